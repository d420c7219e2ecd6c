/* Locks by path and stage: how they count where they count: with counting "everything", and in the checked build. */
#pragma once

#include "1_base/text.h"

/* Written by any thread. */
extern uint64_t hs_lock_count[LOCK_COUNTERS];
extern const char *const hs_lock_counter[LOCK_COUNTERS];

#define LOCKS_VIEW                                                                                          \
    ADDRESS("lock_counts", hs_lock_count) ADDRESS("lock_counters", hs_lock_counter)                         \
        NUMBER("LOCK_COUNTERS", LOCK_COUNTERS)

extern __thread uint32_t hs_new_locks;       /* that the thread has taken and not said what for */
extern __thread enum lock_stage hs_acquired; /* where its last slab came from */

/* The thread takes a lock. */
static inline void count_lock(void)
{
    hs_new_locks++;
}

/* The locks that the thread has not said what for: the caller will. */
static inline uint32_t locks_uncounted(void)
{
    uint32_t locks = hs_new_locks;
    hs_new_locks = 0;
    return locks;
}

static inline void count_locks_of(unsigned path, uint32_t locks)
{
    if (locks > 0)
        __atomic_fetch_add(&hs_lock_count[path], locks, __ATOMIC_RELAXED);
}

/* What the thread's new locks are for. */
static inline void count_locks(unsigned path)
{
    count_locks_of(path, locks_uncounted());
}

static inline void set_stage(enum lock_stage stage)
{
    hs_acquired = stage;
}

static inline unsigned stage_now(void)
{
    return hs_acquired;
}

/* Their names and counts; how many there are. */
static inline size_t counted_locks(const char *const **names, const uint64_t **counts)
{
    *names = hs_lock_counter;
    *counts = hs_lock_count;
    return LOCK_COUNTERS;
}

COLD void report_locks(struct text *out);

static inline void forget_locks(void)
{
    for (unsigned path = 0; path < LOCK_COUNTERS; path++)
        hs_lock_count[path] = 0;
}
