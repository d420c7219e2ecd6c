/* heapsmith-cores A B: what two cores cost each other that share memory; five numbers of ns on stdout.
 *
 * Two threads run on processors A and B, which must not share a core. Exit 3 if one cannot.
 *
 * Lines and locks (1 to 3): the threads take turns. One writes all lines and takes a lock; the other
 * does a pass twice, and times both. The first time all that it needs comes from the other core, the
 * second time nothing does. A pass writes each line, in an order that no prefetcher knows but whose
 * places are known (1: a line among many), follows the links in the lines (2: a line that the next
 * access waits for), or takes the lock (3). The results are medians of the differences.
 *
 * Translations (4 and 5): one thread gives a page back, again and again, while the other does nothing
 * or counts. What the call takes longer when the other runs (4), and what the other loses (5). */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { LINES = 256, WORDS = 8, PASSES = 3, ROUNDS = 2001, PAGE = 4096, CALLS = 100, BLOCKS = 41, CANNOT_RUN = 3 };

static _Alignas(64) volatile uint64_t lines[LINES][WORDS];
static uint16_t order[LINES];
static volatile uint64_t last; /* keeps the loads of a pass that follows links */
static _Alignas(64) atomic_int lock;
static _Alignas(64) atomic_int turn; /* the thread that runs: 0 writes, 1 measures */
static _Alignas(64) atomic_ulong counter;
static atomic_bool counts;

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

/* The link of each line is its second word. */
static void follow_all(void)
{
    uint64_t line = 0;
    for (int i = 0; i < LINES; i++)
        line = lines[line][1];
    last = line;
}

static void take_lock(void)
{
    while (atomic_exchange_explicit(&lock, 1, memory_order_acquire) != 0)
        continue;
    atomic_store_explicit(&lock, 0, memory_order_release);
}

static void *write_in_turn(void *processor)
{
    pin(*(int *)processor);
    for (int round = 0; round < PASSES * ROUNDS; round++) {
        wait_for(0);
        touch_all();
        take_lock();
        atomic_store_explicit(&turn, 1, memory_order_release);
    }
    return NULL;
}

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double timed_pass(void (*pass)(void))
{
    double begun = now_ns();
    pass();
    return now_ns() - begun;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, ascending);
    return values[count / 2];
}

static void print(double ns)
{
    printf("%.2f\n", ns > 0 ? ns : 0.0);
}

static void take_turns(int *other)
{
    pthread_t writer;
    if (pthread_create(&writer, NULL, write_in_turn, other) != 0)
        exit(CANNOT_RUN);
    static double extra[PASSES][ROUNDS];
    static void (*const passes[PASSES])(void) = {touch_all, follow_all, take_lock};
    static const int parts[PASSES] = {LINES, LINES, 1};
    for (int round = 0; round < PASSES * ROUNDS; round++) {
        int which = round % PASSES;
        wait_for(1);
        double first = timed_pass(passes[which]);
        extra[which][round / PASSES] = (first - timed_pass(passes[which])) / parts[which];
        atomic_store_explicit(&turn, 0, memory_order_release);
    }
    pthread_join(writer, NULL);
    for (int i = 0; i < PASSES; i++)
        print(median(extra[i], ROUNDS));
}

static void *count(void *processor)
{
    pin(*(int *)processor);
    for (unsigned long number = 1; atomic_load_explicit(&counts, memory_order_relaxed); number++)
        atomic_store_explicit(&counter, number, memory_order_relaxed);
    return NULL;
}

struct seen {
    double call_ns, count; /* of a call, of the counter in the block */
    double ns;             /* of the block */
};

/* A block of calls, or of the same time in which nothing is called. */
static struct seen give_back(char *page, double idle_ns)
{
    double begun = now_ns(), calls_ns = 0;
    unsigned long before = atomic_load_explicit(&counter, memory_order_relaxed);
    while (now_ns() - begun < idle_ns)
        continue;
    for (int call = 0; idle_ns == 0 && call < CALLS; call++) {
        *(volatile char *)page = 1;
        double called = now_ns();
        if (madvise(page, PAGE, MADV_DONTNEED) != 0)
            exit(CANNOT_RUN);
        calls_ns += now_ns() - called;
    }
    unsigned long after = atomic_load_explicit(&counter, memory_order_relaxed);
    return (struct seen){calls_ns / CALLS, (double)(after - before), now_ns() - begun};
}

static void shoot_down(int *other)
{
    char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_t counting;
    static double alone[BLOCKS], beside[BLOCKS], lost[BLOCKS];
    if (page == MAP_FAILED)
        exit(CANNOT_RUN);
    for (int block = 0; block < BLOCKS; block++)
        alone[block] = give_back(page, 0).call_ns;
    atomic_store(&counts, 1);
    if (pthread_create(&counting, NULL, count, other) != 0)
        exit(CANNOT_RUN);
    while (atomic_load(&counter) == 0)
        continue;
    for (int block = 0; block < BLOCKS; block++) {
        struct seen calls = give_back(page, 0), idle;
        do
            idle = give_back(page, calls.ns);
        while (idle.count == 0); /* the other thread did not run */
        beside[block] = calls.call_ns;
        lost[block] = (calls.ns - calls.count * idle.ns / idle.count) / CALLS;
    }
    atomic_store(&counts, 0);
    pthread_join(counting, NULL);
    print(median(beside, BLOCKS) - median(alone, BLOCKS));
    print(median(lost, BLOCKS));
}

int main(int count, char **arguments)
{
    if (count != 3)
        return CANNOT_RUN;
    int other = atoi(arguments[2]);
    for (int i = 0; i < LINES; i++)
        order[i] = (uint16_t)(i * 97 % LINES); /* 97 is odd: every line once */
    for (int i = 0; i < LINES; i++)
        lines[order[i]][1] = order[(i + 1) % LINES];
    pin(atoi(arguments[1]));
    take_turns(&other);
    shoot_down(&other);
    return 0;
}
