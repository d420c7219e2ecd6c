/* crowd WAVES THREADS BLOCKS LEAST MOST: a server whose many threads come and go. The threads of a wave start, allocate
 * BLOCKS blocks each, and wait until all have. Then each frees its blocks but one of KEPT_OF, and ends; the thread of its
 * place in the next wave frees these first. In the end all are freed. */
#define _GNU_SOURCE
#include "micro.h"
#include <pthread.h>

enum { MOST_THREADS = 4096, KEPT_OF = 16, STACK_BYTES = 1 << 17 };

struct place {
    void **slot;
    uint32_t random;
    uint64_t checksum;
};

static long blocks;
static uint32_t sizes[SIZES];
static pthread_barrier_t all_hold;

static void drop(struct place *place, void **slot)
{
    if (*slot == NULL)
        return;
    place->checksum += look(*slot);
    release(*slot);
    *slot = NULL;
}

static void drop_kept(struct place *place)
{
    for (long i = 0; i < blocks; i += KEPT_OF)
        drop(place, &place->slot[i]);
}

static void *visit(void *argument)
{
    struct place *place = argument;
    drop_kept(place);
    for (long i = 0; i < blocks; i++) {
        size_t bytes = sizes[below(&place->random, SIZES)];
        place->slot[i] = allocate(bytes);
        touch(place->slot[i], bytes, place->random);
    }
    pthread_barrier_wait(&all_hold);
    for (long i = 0; i < blocks; i++)
        if (i % KEPT_OF != 0)
            drop(place, &place->slot[i]);
    return NULL;
}

int main(int count, char **value)
{
    static struct place place[MOST_THREADS];
    static pthread_t thread[MOST_THREADS];
    read_arguments(count, value, 5, "usage: crowd WAVES THREADS BLOCKS LEAST MOST");
    long waves = number(0, 1, 1 << 20), threads = number(1, 1, MOST_THREADS);
    blocks = number(2, 1, 1 << 20);
    fill_sizes(sizes, 3, IS_UNIFORM);
    pthread_barrier_init(&all_hold, NULL, (unsigned)threads);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    for (long i = 0; i < threads; i++)
        place[i] = (struct place){pointers((size_t)blocks), (uint32_t)(SEED + i), 0};
    start_clock();
    for (long wave = 0; wave < waves; wave++) {
        for (long i = 0; i < threads; i++)
            if (pthread_create(&thread[i], &attributes, visit, &place[i]) != 0)
                abort();
        for (long i = 0; i < threads; i++)
            pthread_join(thread[i], NULL);
    }
    uint64_t checksum = 0;
    for (long i = 0; i < threads; i++) {
        drop_kept(&place[i]);
        checksum += place[i].checksum;
    }
    settle(NULL, 0);
    return report(checksum, (uint64_t)(waves * threads * blocks));
}
