/* latency OPERATIONS LIVE THREADS COLD: the time of each malloc, with the writes to its block, and of each free: p50, p99,
 * p99.9 and the worst, as JSON.
 *
 * Each thread replaces random blocks of LIVE: free, then malloc of a size that it draws: 1 in 64 up to 32 KiB, 7 in 64 up to
 * 4 KiB, the others up to 256 bytes. Unless COLD is 1, the blocks and a tenth of the operations come first, unstamped; else one block. */
#include "latency.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { MOST_THREADS = 64 };

struct worker {
    uint64_t random;
    struct latency allocate, release;
};

static long operations, live, cold;
static struct worker worker[MOST_THREADS];
static struct stamp stamp;

static uint32_t draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

static size_t draw_bytes(uint64_t *state)
{
    uint32_t kind = draw(state) % 64;
    return 8 + draw(state) % (kind == 0 ? 32761 : kind < 8 ? 4089 : 249);
}

/* A table that is none of the malloc under test. */
static void *table(size_t bytes)
{
    void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (start == MAP_FAILED)
        abort();
    return start;
}

static void replace(struct worker *self, void **place, int stamped)
{
    size_t bytes = draw_bytes(&self->random);
    self->release.stamp = latency_now();
    free(*place);
    if (stamped)
        latency_add(&self->release);
    self->allocate.stamp = latency_now();
    char *block = malloc(bytes);
    for (size_t at = 0; at < bytes; at += 4096)
        block[at] = 1;
    block[bytes - 1] = 1;
    if (stamped)
        latency_add(&self->allocate);
    *place = block;
}

static void *work(void *argument)
{
    struct worker *self = argument;
    void **slot = table((size_t)live * sizeof *slot);
    replace(self, slot, 0);
    for (long place = 1; !cold && place < live; place++)
        replace(self, &slot[place], 0);
    for (long operation = 0; !cold && operation < operations / 10; operation++)
        replace(self, &slot[draw(&self->random) % (uint64_t)live], 0);
    for (long operation = 0; operation < operations; operation++)
        replace(self, &slot[draw(&self->random) % (uint64_t)live], 1);
    return NULL;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Nanoseconds of a number of ticks without what a stamp takes. */
static double in_ns(double ticks, double ns_per_tick)
{
    return ticks > stamp.cost ? (ticks - stamp.cost) * ns_per_tick : 0;
}

static void show(const char *name, const struct latency *l, double ns)
{
    printf("\"%s\": {\"p50\": %.1f, \"p99\": %.1f, \"p999\": %.1f, \"worst\": %.1f}", name,
           in_ns(latency_quantile(l, 0.5, stamp.step), ns), in_ns(latency_quantile(l, 0.99, stamp.step), ns),
           in_ns(latency_quantile(l, 0.999, stamp.step), ns), in_ns((double)l->worst, ns));
}

int main(int count, char **value)
{
    if (count != 5)
        return 2;
    operations = atol(value[1]);
    live = atol(value[2]);
    long threads = atol(value[3]);
    cold = atol(value[4]);
    if (operations < 1 || live < 1 || threads < 1 || threads > MOST_THREADS)
        return 2;
    stamp = latency_calibrate();
    pthread_t thread[MOST_THREADS];
    double from = seconds();
    uint64_t from_ticks = latency_now();
    for (long self = 0; self < threads; self++) {
        worker[self].random = 88172645u + (uint64_t)self;
        if (pthread_create(&thread[self], NULL, work, &worker[self]) != 0)
            return 2;
    }
    for (long self = 0; self < threads; self++)
        pthread_join(thread[self], NULL);
    double ns_per_tick = (seconds() - from) * 1e9 / (double)(latency_now() - from_ticks);
    for (long self = 1; self < threads; self++) {
        latency_merge(&worker[0].allocate, &worker[self].allocate);
        latency_merge(&worker[0].release, &worker[self].release);
    }
    printf("{");
    show("malloc", &worker[0].allocate, ns_per_tick);
    printf(", ");
    show("free", &worker[0].release, ns_per_tick);
    printf("}\n");
    return 0;
}
