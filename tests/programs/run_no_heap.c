/* A thread for which the system has no memory left frees another's blocks, asks for some, and resizes some: it has no heap, and
 * nothing that lives is harmed. Then the limit goes, everything works again, and no block is lost. Writes how many heaps there
 * were meanwhile, by the counter that argv names by its place. */
#include "run_blocks.h"

#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/resource.h>

enum { KINDS = 24, EACH = 40, BLOCKS = KINDS * EACH };

static struct block row[BLOCKS];
static sem_t begins, ended;

static void begin(struct block *block, size_t index)
{
    size_t bytes = index % KINDS < 16 ? 1 + 48 * (index % KINDS) : (size_t)1 << (index % KINDS - 7);
    *block = (struct block){ malloc(bytes), bytes, (unsigned char)index };
    fill(block);
}

static size_t in_use(void)
{
    struct mallinfo2 all = mallinfo2();
    return all.uordblks + all.hblkhd;
}

static void *work(void *unused)
{
    static struct block own[BLOCKS];
    while (sem_wait(&begins) != 0)
        ;
    for (size_t index = 0; index < BLOCKS; index += 2)
        release(&row[index]);
    for (size_t index = 0; index < BLOCKS; index++) {
        errno = 0;
        begin(&own[index], index);
        demand(own[index].start != NULL || errno == ENOMEM, "a failure that is not ENOMEM");
        if (index % 7 == 0)
            release(&own[index]);
    }
    for (size_t index = 1; index < BLOCKS; index += 4) {
        unsigned char *resized = realloc(row[index].start, row[index].bytes + 9);
        demand(kept(&(struct block){ resized != NULL ? resized : row[index].start, row[index].bytes, row[index].seed },
                    row[index].bytes < EDGE ? row[index].bytes : EDGE),
               "realloc lost the contents");
        if (resized == NULL)
            continue;
        row[index] = (struct block){ resized, row[index].bytes + 9, row[index].seed };
        fill(&row[index]);
    }
    for (size_t index = 0; index < BLOCKS; index++)
        release(&own[index]);
    sem_post(&ended);
    return unused;
}

int main(int count, char **arguments)
{
    static uint64_t counters[8192];
    struct rlimit before, none = { 0, RLIM_INFINITY };
    pthread_t thread;
    demand(count == 2 && heapsmith_counter_count() <= 8192, "usage: run_no_heap COUNTER");
    demand(getrlimit(RLIMIT_AS, &before) == 0, "no limit can be read");
    sem_init(&begins, 0, 0);
    sem_init(&ended, 0, 0);
    demand(pthread_create(&thread, NULL, work, NULL) == 0, "no thread");
    size_t at_first = in_use();
    for (size_t index = 0; index < BLOCKS; index++)
        begin(&row[index], index);
    none.rlim_max = before.rlim_max;
    demand(setrlimit(RLIMIT_AS, &none) == 0, "no limit can be set");
    sem_post(&begins);
    while (sem_wait(&ended) != 0)
        ;
    heapsmith_counters(counters);
    uint64_t heaps = counters[atol(arguments[1])];
    demand(setrlimit(RLIMIT_AS, &before) == 0, "the limit stays");
    pthread_join(thread, NULL);
    for (size_t index = 0; index < BLOCKS; index++) {
        release(&row[index]);
        begin(&row[index], index);
        demand(row[index].start != NULL, "an allocation failed when nothing was wrong");
    }
    heapsmith_check();
    for (size_t index = 0; index < BLOCKS; index++)
        release(&row[index]);
    demand(in_use() <= at_first, "a block was lost");
    return printf("%lu\n", heaps) < 0;
}
