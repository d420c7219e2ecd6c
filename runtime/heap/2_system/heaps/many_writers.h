/* A heap's counters where a heap is no thread's: a thread may be on another processor when it counts. */
#pragma once

static inline void count_own(uint64_t *counter, uint64_t by)
{
    __atomic_fetch_add(counter, by, __ATOMIC_RELAXED);
}
