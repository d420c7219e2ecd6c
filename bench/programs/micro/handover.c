/* handover BATCHES LEAST MOST PRODUCERS CONSUMERS: some threads allocate, others free; a bounded
 * queue is between them. Each producer makes BATCHES batches. The queue is a ring (FIFO) of
 * batches under one lock. */
#define _GNU_SOURCE
#include "micro.h"
#include <pthread.h>
#include <string.h>

enum { BATCH = 64, QUEUE = 64, MOST_THREADS = 256 };

struct batch {
    void *block[BATCH];
};

struct worker {
    int consumes;
    uint32_t random;
    uint64_t checksum;
};

static long batches, left; /* left: unclaimed batches, under the lock */
static uint32_t sizes[SIZES];
static struct batch queue[QUEUE];
static unsigned first, held;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t grew = PTHREAD_COND_INITIALIZER, shrank = PTHREAD_COND_INITIALIZER;

static void put(const struct batch *batch)
{
    pthread_mutex_lock(&lock);
    while (held == QUEUE)
        pthread_cond_wait(&shrank, &lock);
    queue[(first + held++) % QUEUE] = *batch;
    pthread_cond_signal(&grew);
    pthread_mutex_unlock(&lock);
}

/* Returns 0 when all batches are claimed. */
static int get(struct batch *batch)
{
    pthread_mutex_lock(&lock);
    int claimed = left > 0;
    left -= claimed;
    while (claimed && held == 0)
        pthread_cond_wait(&grew, &lock);
    if (claimed) {
        *batch = queue[first++ % QUEUE];
        held--;
        pthread_cond_signal(&shrank);
    }
    pthread_mutex_unlock(&lock);
    return claimed;
}

static void produce(struct worker *worker)
{
    struct batch batch;
    for (long i = 0; i < batches; i++) {
        for (int k = 0; k < BATCH; k++) {
            size_t bytes = sizes[below(&worker->random, SIZES)];
            batch.block[k] = allocate(bytes);
            touch(batch.block[k], bytes, worker->random);
        }
        put(&batch);
    }
}

static void consume(struct worker *worker)
{
    struct batch batch;
    while (get(&batch))
        for (int k = 0; k < BATCH; k++) {
            worker->checksum += look(batch.block[k]);
            release(batch.block[k]);
        }
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    (worker->consumes ? consume : produce)(worker);
    return NULL;
}

int main(int count, char **value)
{
    static struct worker workers[2 * MOST_THREADS];
    read_arguments(count, value, 5, "usage: handover BATCHES LEAST MOST PRODUCERS CONSUMERS");
    batches = number(0, 1, 1L << 32);
    fill_sizes(sizes, 1, IS_UNIFORM);
    long producers = number(3, 1, MOST_THREADS / 2), threads = producers + number(4, 1, MOST_THREADS / 2);
    left = batches * producers;
    for (long i = 0; i < threads; i++)
        workers[i] = (struct worker){i >= producers, (uint32_t)(SEED + i), 0};
    start_clock();
    on_threads(work, workers, sizeof *workers, threads);
    uint64_t checksum = 0;
    for (long i = producers; i < threads; i++)
        checksum += workers[i].checksum;
    return report(checksum, (uint64_t)(batches * producers * BATCH));
}
