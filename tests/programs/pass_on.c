/* One thread makes blocks and hands them to another, which frees them: a ring holds those that are live, `live` at most.
 *
 * Arguments: the way, `blocks` in all, `live`, a seed. Each block is used at its first and last byte. The ways:
 * - mixed: sizes from 16 bytes to 2 KiB, each of its own;
 * - phases: first `live` blocks of 16 bytes, all freed while the maker waits; then blocks of 24,000 bytes, at most 64 live;
 * - ends: as mixed, but after each `live` blocks the maker ends, with up to `live` of its blocks still to be freed, and
 *   another thread goes on;
 * - both: as mixed, with three makers and two takers. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 3, SMALL = 16, LARGE = 24000, MOST_LARGE = 64 };

struct ring {
    _Alignas(64) _Atomic size_t made;
    _Alignas(64) _Atomic size_t freed;
    pthread_mutex_t makers, takers;
    char *block[1 << 18];
};

static struct ring ring;
static size_t blocks, live, most_live, threads = 1;
static uint32_t seed;
static const char *way;

static uint32_t draw(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static size_t mixed(uint32_t *state)
{
    return (16 + draw(state) % 16) << draw(state) % 7;
}

/* False: all are made. */
static int make(size_t bytes)
{
    pthread_mutex_lock(&ring.makers);
    size_t made = ring.made;
    int more = made < blocks;
    if (more) {
        while (made - ring.freed >= most_live)
            sched_yield();
        char *block = malloc(bytes);
        if (block == NULL)
            abort();
        block[0] = block[bytes - 1] = 1;
        ring.block[made % live] = block;
        ring.made = made + 1;
    }
    pthread_mutex_unlock(&ring.makers);
    return more;
}

static void *take(void *unused)
{
    for (int more = 1; more;) {
        pthread_mutex_lock(&ring.takers);
        size_t freed = ring.freed;
        more = freed < blocks;
        if (more && freed < ring.made) {
            free(ring.block[freed % live]);
            ring.freed = freed + 1;
        } else if (more) {
            sched_yield();
        }
        pthread_mutex_unlock(&ring.takers);
    }
    return unused;
}

static void *make_mixed(void *number)
{
    uint32_t state = seed + (uint32_t)(uintptr_t)number;
    size_t made = 0, most = strcmp(way, "ends") == 0 ? live : blocks;
    while (made++ < most && make(mixed(&state))) {
    }
    return NULL;
}

static void *make_in_phases(void *unused)
{
    for (size_t made = 0; made < live; made++)
        make(SMALL);
    while (ring.freed < live)
        sched_yield();
    most_live = MOST_LARGE;
    while (make(LARGE)) {
    }
    return unused;
}

static void run(pthread_t *thread, void *(*body)(void *), size_t number)
{
    if (pthread_create(thread, NULL, body, (void *)number) != 0)
        abort();
}

int main(int count, char **argument)
{
    if (count != 5)
        return 2;
    way = argument[1];
    blocks = strtoul(argument[2], NULL, 10);
    live = most_live = strtoul(argument[3], NULL, 10);
    seed = (uint32_t)strtoul(argument[4], NULL, 10);
    pthread_t maker[MOST_THREADS], taker[2];
    size_t takers = 1;
    if (strcmp(way, "both") == 0)
        threads = 3, takers = 2;
    for (size_t number = 0; number < takers; number++)
        run(&taker[number], take, number);
    if (strcmp(way, "ends") == 0) {
        for (size_t round = 0; ring.made < blocks; round++) {
            run(&maker[0], make_mixed, 1 + round);
            pthread_join(maker[0], NULL);
        }
        threads = 0;
    }
    for (size_t number = 0; number < threads; number++)
        run(&maker[number], strcmp(way, "phases") == 0 ? make_in_phases : make_mixed, 1 + number);
    for (size_t number = 0; number < threads; number++)
        pthread_join(maker[number], NULL);
    for (size_t number = 0; number < takers; number++)
        pthread_join(taker[number], NULL);
    return 0;
}
