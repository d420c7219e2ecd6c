/* The clock of a delay: milliseconds, of the system's coarse clock or as they are told. */
#include "5_slab_policies/release/release.h"

#include <time.h>

enum { MS_PER_S = 1000, NS_PER_MS = 1000000 };
#define NOT_TOLD UINT64_MAX

static uint64_t told = NOT_TOLD;
static uint64_t looked; /* the clock at the last look */

/* No system call: the vDSO has this clock. */
uint64_t release_clock(void)
{
    uint64_t time = __atomic_load_n(&told, __ATOMIC_RELAXED);
    if (time != NOT_TOLD)
        return time;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * MS_PER_S + (uint64_t)now.tv_nsec / NS_PER_MS;
}

void release_freed(size_t bytes)
{
}

/* Two threads may both look then: each finds what the other left. */
bool release_look_due(void)
{
    uint64_t time = release_clock();
    if (__atomic_load_n(&looked, __ATOMIC_RELAXED) == time)
        return false;
    __atomic_store_n(&looked, time, __ATOMIC_RELAXED);
    return true;
}

void release_reset_clock(void)
{
    looked = 0;
}

/* For who performs events in one order: the time of the event that follows. From the first call on, before the first event,
 * nobody asks the system. */
__attribute__((visibility("default"))) void heapsmith_clock(uint64_t milliseconds);
void heapsmith_clock(uint64_t milliseconds)
{
    __atomic_store_n(&told, milliseconds, __ATOMIC_RELAXED);
}
