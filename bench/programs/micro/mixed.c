/* mixed PAIRS LIVE LEAST MOST uniform|skewed THREADS: each new block of random size replaces a
 * random block of LIVE. Each thread has its own LIVE blocks and does PAIRS pairs. */
#include "micro.h"

enum { MOST_THREADS = 256 };

struct worker {
    void **slot;
    uint32_t random;
    uint64_t checksum;
};

static long pairs, live;
static uint32_t sizes[SIZES];

static void *work(void *argument)
{
    struct worker *worker = argument;
    void **slot = worker->slot;
    uint32_t random = worker->random;
    uint64_t checksum = 0;
    for (long pair = 0; pair < pairs; pair++) {
        void **place = &slot[below(&random, (uint32_t)live)];
        size_t bytes = sizes[below(&random, SIZES)];
        if (*place != NULL)
            checksum += look(*place);
        release(*place);
        *place = allocate(bytes);
        touch(*place, bytes, (uint32_t)pair);
    }
    worker->checksum = checksum;
    return NULL;
}

int main(int count, char **value)
{
    static struct worker workers[MOST_THREADS];
    read_arguments(count, value, 6, "usage: mixed PAIRS LIVE LEAST MOST uniform|skewed THREADS");
    pairs = number(0, 1, 1L << 40);
    live = number(1, 1, 1 << 24);
    fill_sizes(sizes, 2, 4);
    long threads = number(5, 1, MOST_THREADS);
    for (long i = 0; i < threads; i++)
        workers[i] = (struct worker){pointers((size_t)live), (uint32_t)(SEED + i), 0};
    start_clock();
    on_threads(work, workers, sizeof *workers, threads);
    uint64_t checksum = 0;
    for (long i = 0; i < threads; i++)
        checksum += workers[i].checksum;
    return report(checksum, (uint64_t)(pairs * threads));
}
