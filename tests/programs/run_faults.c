/* A fixed sequence over all tiers, in two threads one after the other and in the main thread, in which any allocation may
 * fail: with ENOMEM, and no harm to what is alive. When the fault is over everything works again. Writes how many
 * allocations failed, and the counter that argv names by its place at the end. */
#include "run_blocks.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>

enum { SLOTS = 150, STEPS = 300, BIG = 9000 };

extern void fault_over(void) __attribute__((weak));

static struct block handed[SLOTS]; /* by the threads to the main thread */
static long failed;
static bool may_fail = true;

static bool failure(const void *block)
{
    if (block != NULL)
        return false;
    demand(may_fail, "an allocation failed when nothing was wrong");
    demand(errno == ENOMEM, "a failure that is not ENOMEM");
    errno = 0;
    failed++;
    return true;
}

static void renew(struct block *block, uint32_t draw, size_t bytes)
{
    release(block);
    *block = (struct block){ NULL, bytes, (unsigned char)draw };
    if (draw % 4 == 0) {
        block->start = calloc(1, bytes);
        for (size_t at = 0; block->start != NULL && at < bytes && at < 9000; at++)
            demand(block->start[at] == 0, "calloc's block is not zero");
    } else if (draw % 4 == 1) {
        size_t alignment = (size_t)16 << draw / 4 % 12;
        block->start = memalign(alignment, bytes);
        demand((uintptr_t)block->start % alignment == 0, "a block is not aligned");
    } else {
        block->start = malloc(bytes);
    }
    failure(block->start);
    fill(block);
}

static void resize(struct block *block, size_t bytes)
{
    errno = 0;
    unsigned char *moved = realloc(block->start, bytes + 1);
    if (failure(moved)) {
        demand(kept(block, block->bytes), "a failed realloc changed the block");
        return;
    }
    size_t common = block->start == NULL ? 0 : bytes + 1 < block->bytes ? bytes + 1 : block->bytes;
    block->start = moved;
    demand(common == 0 || kept(block, common), "realloc lost the contents");
    block->bytes = bytes + 1;
    fill(block);
}

static void step(struct block *row, uint32_t *random)
{
    uint32_t draw = next_random(random);
    struct block *block = &row[next_random(random) % SLOTS];
    size_t bytes = random_bytes(random);
    errno = 0;
    if (draw % 8 < 3)
        resize(block, bytes);
    else if (draw % 8 == 3)
        release(block);
    else
        renew(block, draw / 8, bytes);
}

/* Many small blocks of one size: more than a superslab of them. The contents of a few are looked at. */
static void flood(size_t bytes)
{
    static struct block many[BIG];
    for (int index = 0; index < BIG; index++) {
        many[index] = (struct block){ malloc(bytes), bytes, (unsigned char)index };
        failure(many[index].start);
        if (index % 16 == 0)
            fill(&many[index]);
    }
    for (int index = 0; index < BIG; index++)
        index % 16 == 0 ? release(&many[index]) : free(many[index].start);
}

/* A run and a huge block that grow and shrink: what is too long for the random steps. least: of a huge block few bytes are
 * copied to a run and back, as nearly all the time of a run of this program would go there. */
static void stretch(size_t bytes, size_t least)
{
    struct block block = { NULL, 0, 77 };
    resize(&block, bytes);
    resize(&block, least);
    resize(&block, 2 * bytes);
    resize(&block, bytes);
    release(&block);
}

static void release_all(struct block *row)
{
    for (int slot = 0; slot < SLOTS; slot++)
        release(&row[slot]);
}

static void *sequence(void *seed)
{
    static struct block row[SLOTS];
    uint32_t random = (uint32_t)(uintptr_t)seed;
    for (int index = 0; index < STEPS; index++)
        step(row, &random);
    flood(300);
    stretch((size_t)5 << 20, (size_t)5 << 19);
    for (int slot = 0; slot < SLOTS; slot += 2) {
        release(&handed[slot]);
        handed[slot] = row[slot];
        row[slot].start = NULL;
    }
    release_all(row);
    return NULL;
}

static void in_a_thread(void *(*work)(void *), uintptr_t seed)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, (void *)seed) == 0)
        pthread_join(thread, NULL);
    else
        demand(may_fail, "no thread when nothing was wrong");
}

static void everything(void)
{
    in_a_thread(sequence, 3);
    sequence((void *)5);
    stretch((size_t)34 << 20, 1 << 20);
    in_a_thread(sequence, 3);
    release_all(handed);
}

static long counter(size_t place)
{
    static uint64_t counters[8192];
    demand(heapsmith_counter_count() <= 8192, "many counters");
    heapsmith_counters(counters);
    return (long)counters[place];
}

int main(int count, char **arguments)
{
    everything();
    long failures = failed;
    may_fail = false;
    if (fault_over != NULL)
        fault_over();
    everything();
    malloc_trim(0);
    if (heapsmith_check != NULL)
        heapsmith_check();
    return printf("%ld %ld\n", failures, count == 2 ? counter((size_t)atol(arguments[1])) : 0) < 0;
}
