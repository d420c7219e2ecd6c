/* Counting "everything": locks, system calls and hits too. */
#pragma once

#include "1_base/counting/locks.h"
#include "1_base/text.h"

enum { COUNTING_HITS = 1 };

/* Written by any thread. */
extern uint64_t hs_system_count[SYSTEM_COUNTERS];
extern const char *const hs_system_counter[SYSTEM_COUNTERS];

#define COUNTING_VIEW                                                                                     \
    ADDRESS("system_counts", hs_system_count) ADDRESS("system_counters", hs_system_counter)                 \
        NUMBER("SYSTEM_COUNTERS", SYSTEM_COUNTERS)

static inline void count_system(enum system_count which)
{
    __atomic_fetch_add(&hs_system_count[which], 1, __ATOMIC_RELAXED);
}

/* Their names and counts; how many there are. */
static inline size_t counted_calls(const char *const **names, const uint64_t **counts)
{
    *names = hs_system_counter;
    *counts = hs_system_count;
    return SYSTEM_COUNTERS;
}

COLD void counting_report(struct text *out);
