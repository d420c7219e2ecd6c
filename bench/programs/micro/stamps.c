/* The tables of stamps.h: in shared memory, taken by threads as they come. */
#define _GNU_SOURCE
#include "stamps.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

enum { MOST_TABLES = 4096, PAGE_BYTES = 4096 };

struct tables {
    int taken[MOST_TABLES];
    struct stamps table[MOST_TABLES];
};

__thread struct stamps *stamps_own;
int stamps_on;

static struct tables *tables;
static pthread_key_t at_end;
static struct stamp stamp;
static struct timespec begun;
static uint64_t begun_ticks;

static void leave(void *own)
{
    __atomic_store_n(&tables->taken[(struct stamps *)own - tables->table], 0, __ATOMIC_RELEASE);
}

void stamps_leave(void)
{
    if (stamps_own != NULL)
        leave(stamps_own);
    stamps_own = NULL;
}

static void forget(void)
{
    stamps_own = NULL;
}

struct stamps *stamps_take(void)
{
    for (int i = 0; i < MOST_TABLES; i++) {
        int *taken = &tables->taken[i];
        if (__atomic_load_n(taken, __ATOMIC_RELAXED) || __atomic_exchange_n(taken, 1, __ATOMIC_ACQUIRE))
            continue;
        volatile char *bytes = (char *)&tables->table[i];
        for (size_t at = 0; at < sizeof(struct stamps); at += PAGE_BYTES) /* else the first calls would wait for its pages */
            bytes[at] = bytes[at];
        pthread_setspecific(at_end, &tables->table[i]);
        return stamps_own = &tables->table[i];
    }
    abort();
}

void stamps_prepare(void)
{
    tables = mmap(NULL, sizeof *tables, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (tables == MAP_FAILED || pthread_key_create(&at_end, leave) != 0 || pthread_atfork(NULL, NULL, forget) != 0)
        abort();
    stamp = latency_calibrate();
}

void stamps_begin(void)
{
    clock_gettime(CLOCK_MONOTONIC, &begun);
    begun_ticks = arch_clock();
    stamps_on = 1;
}

int stamps_text(char *text, size_t room)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    double passed_ns = (double)(now.tv_sec - begun.tv_sec) * 1e9 + (double)(now.tv_nsec - begun.tv_nsec);
    double tick_ns = passed_ns / (double)(arch_clock() - begun_ticks);
    struct stamps *sum = &tables->table[0];
    for (int i = 1; i < MOST_TABLES; i++) {
        latency_merge(&sum->allocate, &tables->table[i].allocate);
        latency_merge(&sum->release, &tables->table[i].release);
    }
    char allocate[256], release[256];
    latency_text(&sum->allocate, stamp, tick_ns, allocate, sizeof allocate);
    latency_text(&sum->release, stamp, tick_ns, release, sizeof release);
    return snprintf(text, room, ", \"malloc_ns\": %s, \"free_ns\": %s", allocate, release);
}
