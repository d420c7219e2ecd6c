/* calls OPERATIONS LIVE THREADS COLD: for the time of single calls (stamps.h). Each thread replaces random blocks of LIVE,
 * OPERATIONS times: free, then malloc of a size that it draws, 1 in 64 up to 32 KiB, 7 in 64 up to 4 KiB, the others up to 256
 * bytes. The blocks and a tenth of the operations come before the clock starts; if COLD is 1, one block alone. */
#define _GNU_SOURCE
#include "micro.h"
#include <pthread.h>

enum { MOST_THREADS = 256, KINDS = 64, MIDDLE_KINDS = 8, LEAST = 8, SMALL = 256, MIDDLE = 4096, LARGE = 32768, WARM_UP = 10 };

struct worker {
    void **slot;
    uint32_t random;
    uint64_t checksum;
};

static long operations, live, cold, threads;
static pthread_barrier_t ready, begin;

static void replace(struct worker *worker, void **place)
{
    uint32_t kind = below(&worker->random, KINDS), most = kind == 0 ? LARGE : kind < MIDDLE_KINDS ? MIDDLE : SMALL;
    size_t bytes = LEAST + below(&worker->random, most - LEAST + 1);
    if (*place != NULL)
        worker->checksum += look(*place);
    release(*place);
    *place = allocate(bytes);
    touch(*place, bytes, worker->random);
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    for (long place = 0; place < (cold ? 1 : live); place++)
        replace(worker, &worker->slot[place]);
    for (long operation = 0; !cold && operation < operations / WARM_UP; operation++)
        replace(worker, &worker->slot[below(&worker->random, (uint32_t)live)]);
    pthread_barrier_wait(&ready);
    pthread_barrier_wait(&begin);
    for (long operation = 0; operation < operations; operation++)
        replace(worker, &worker->slot[below(&worker->random, (uint32_t)live)]);
    return NULL;
}

int main(int count, char **value)
{
    static struct worker workers[MOST_THREADS];
    pthread_t thread[MOST_THREADS];
    read_arguments(count, value, 4, "usage: calls OPERATIONS LIVE THREADS COLD");
    operations = number(0, 1, 1L << 40);
    live = number(1, 1, 1 << 24);
    threads = number(2, 1, MOST_THREADS);
    cold = number(3, 0, 1);
    pthread_barrier_init(&ready, NULL, (unsigned)threads + 1);
    pthread_barrier_init(&begin, NULL, (unsigned)threads + 1);
    for (long i = 0; i < threads; i++) {
        workers[i] = (struct worker){pointers((size_t)live), (uint32_t)(SEED + i), 0};
        if (pthread_create(&thread[i], NULL, work, &workers[i]) != 0)
            abort();
    }
    pthread_barrier_wait(&ready);
    start_clock();
    pthread_barrier_wait(&begin);
    uint64_t checksum = 0;
    for (long i = 0; i < threads; i++) {
        pthread_join(thread[i], NULL);
        checksum += workers[i].checksum;
    }
    return report(checksum, (uint64_t)(operations * threads));
}
