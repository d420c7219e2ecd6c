/* heapsmith-transfer A B: the cost of a line that another core wrote, beyond a hit in the own
 * first level: of a line among many, and of a line that the next access waits for; ns on stdout.
 *
 * Two threads on processors A and B, which must not share a core, take turns. One writes all
 * lines; the other passes over them twice, in an order that no prefetcher knows, and times both
 * passes. In the first pass every line comes from the other core, in the second none does. In turn
 * the passes write each line, whose places are known, and follow the links in the lines. The
 * results are the medians over the rounds. Exit 3 if a thread cannot run on its processor. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { LINES = 256, WORDS = 8, PASSES = 2, ROUNDS = 2001, CANNOT_RUN = 3 };

static _Alignas(64) volatile uint64_t lines[LINES][WORDS];
static uint16_t order[LINES];
static volatile uint64_t last; /* keeps the loads of a pass that follows links */
static _Alignas(64) atomic_int turn; /* the thread that runs: 0 writes, 1 measures */

static void pin(int processor)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    if (processor < 0 || processor >= CPU_SETSIZE || pthread_setaffinity_np(pthread_self(), sizeof set, &set) != 0)
        exit(CANNOT_RUN);
}

static void wait_for(int who)
{
    while (atomic_load_explicit(&turn, memory_order_acquire) != who)
        continue;
}

static void touch_all(void)
{
    for (int i = 0; i < LINES; i++)
        lines[order[i]][0]++;
}

static void *write_in_turn(void *processor)
{
    pin(*(int *)processor);
    for (int round = 0; round < PASSES * ROUNDS; round++) {
        wait_for(0);
        touch_all();
        atomic_store_explicit(&turn, 1, memory_order_release);
    }
    return NULL;
}

/* The link of each line is its second word. */
static void follow_all(void)
{
    uint64_t line = 0;
    for (int i = 0; i < LINES; i++)
        line = lines[line][1];
    last = line;
}

static double timed_pass(void (*pass)(void))
{
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    pass();
    clock_gettime(CLOCK_MONOTONIC, &after);
    return (double)(after.tv_sec - before.tv_sec) * 1e9 + (double)(after.tv_nsec - before.tv_nsec);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int count, char **arguments)
{
    if (count != 3)
        return CANNOT_RUN;
    int processors[2] = {atoi(arguments[1]), atoi(arguments[2])};
    for (int i = 0; i < LINES; i++)
        order[i] = (uint16_t)(i * 97 % LINES); /* 97 is odd: every line once */
    for (int i = 0; i < LINES; i++)
        lines[order[i]][1] = order[(i + 1) % LINES];
    pthread_t writer;
    pin(processors[0]);
    if (pthread_create(&writer, NULL, write_in_turn, &processors[1]) != 0)
        return CANNOT_RUN;
    static double extra[PASSES][ROUNDS];
    static void (*const passes[PASSES])(void) = {touch_all, follow_all};
    for (int round = 0; round < PASSES * ROUNDS; round++) {
        void (*pass)(void) = passes[round % PASSES];
        wait_for(1);
        double first = timed_pass(pass);
        extra[round % PASSES][round / PASSES] = (first - timed_pass(pass)) / LINES;
        atomic_store_explicit(&turn, 0, memory_order_release);
    }
    pthread_join(writer, NULL);
    for (int i = 0; i < PASSES; i++) {
        qsort(extra[i], ROUNDS, sizeof *extra[i], ascending);
        printf("%.2f\n", extra[i][ROUNDS / 2] > 0 ? extra[i][ROUNDS / 2] : 0.0);
    }
    return 0;
}
