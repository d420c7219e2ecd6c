/* larson PAIRS LIVE LEAST MOST LANES GENERATIONS: a server whose threads start, end and inherit
 * live blocks. After Larson and Krishnan, "Memory Allocation for Long-Running Server
 * Applications", ISMM 1998, with a fixed amount of work. In each lane a thread replaces random
 * blocks of LIVE, PAIRS times; then it starts the thread of the next generation, which continues
 * with the blocks, and ends. */
#define _GNU_SOURCE
#include "micro.h"
#include <pthread.h>
#include <semaphore.h>

enum { MOST_LANES = 256 };

struct lane {
    void **slot;
    uint32_t random;
    long generation;
    uint64_t checksum;
};

static long pairs, live, generations;
static uint32_t sizes[SIZES];
static sem_t lanes_done;

static void *live_once(void *argument);

static void pass_on(struct lane *lane)
{
    pthread_t successor;
    if (++lane->generation == generations)
        sem_post(&lanes_done);
    else if (pthread_create(&successor, NULL, live_once, lane) == 0)
        pthread_detach(successor);
    else
        abort();
}

static void *live_once(void *argument)
{
    struct lane *lane = argument;
    uint32_t random = lane->random;
    uint64_t checksum = 0;
    for (long pair = 0; pair < pairs; pair++) {
        void **place = &lane->slot[below(&random, (uint32_t)live)];
        size_t bytes = sizes[below(&random, SIZES)];
        if (*place != NULL)
            checksum += look(*place);
        release(*place);
        *place = allocate(bytes);
        touch(*place, bytes, random);
    }
    lane->random = random;
    lane->checksum += checksum;
    pass_on(lane);
    return NULL;
}

int main(int count, char **value)
{
    static struct lane lane[MOST_LANES];
    read_arguments(count, value, 6, "usage: larson PAIRS LIVE LEAST MOST LANES GENERATIONS");
    pairs = number(0, 1, 1L << 40);
    live = number(1, 1, 1 << 24);
    fill_sizes(sizes, 2, IS_UNIFORM);
    long lanes = number(4, 1, MOST_LANES);
    generations = number(5, 1, 1 << 20);
    sem_init(&lanes_done, 0, 0);
    for (long i = 0; i < lanes; i++)
        lane[i] = (struct lane){pointers((size_t)live), (uint32_t)(SEED + i), -1, 0};
    start_clock();
    for (long i = 0; i < lanes; i++)
        pass_on(&lane[i]);
    uint64_t checksum = 0;
    for (long i = 0; i < lanes; i++)
        while (sem_wait(&lanes_done) != 0)
            ;
    for (long i = 0; i < lanes; i++)
        checksum += lane[i].checksum;
    return report(checksum, (uint64_t)(pairs * lanes * generations));
}
