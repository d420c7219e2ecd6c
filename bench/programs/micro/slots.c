/* slots OPERATIONS SLOTS LEAST MOST THREADS: a random slot of SLOTS is freed if it holds a block, and
 * gets a block of random size if not, so half of them are live. Only the first word and the last
 * byte of a block are written. Each thread has SLOTS slots of its own and does OPERATIONS. */
#include "micro.h"

enum { MOST_THREADS = 256 };

struct worker {
    void **slot;
    uint32_t random;
    uint64_t checksum;
};

static long operations, slots;
static uint32_t sizes[SIZES];

static void *work(void *argument)
{
    struct worker *worker = argument;
    void **slot = worker->slot;
    uint32_t random = worker->random;
    uint64_t checksum = 0;
    for (long operation = 0; operation < operations; operation++) {
        void **place = &slot[below(&random, (uint32_t)slots)];
        size_t bytes = sizes[below(&random, SIZES)];
        if (*place != NULL) {
            checksum += look(*place);
            release(*place);
            *place = NULL;
        } else {
            *place = allocate(bytes);
            touch_ends(*place, bytes, (uint32_t)operation);
        }
    }
    worker->checksum = checksum;
    return NULL;
}

int main(int count, char **value)
{
    static struct worker workers[MOST_THREADS];
    read_arguments(count, value, 5, "usage: slots OPERATIONS SLOTS LEAST MOST THREADS");
    operations = number(0, 1, 1L << 40);
    slots = number(1, 1, 1 << 24);
    fill_sizes(sizes, 2, IS_UNIFORM);
    long threads = number(4, 1, MOST_THREADS);
    for (long i = 0; i < threads; i++)
        workers[i] = (struct worker){pointers((size_t)slots), (uint32_t)(SEED + i), 0};
    start_clock();
    on_threads(work, workers, sizeof *workers, threads);
    uint64_t checksum = 0;
    for (long i = 0; i < threads; i++)
        checksum += workers[i].checksum;
    return report(checksum, (uint64_t)(operations * threads));
}
