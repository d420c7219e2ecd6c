/* Counting "slow": no locks, no system calls, no hits, but what the checked build counts. */
#pragma once

#include "1_base/check.h"
#include "1_base/text.h"

enum { COUNTING_HITS = 0 };

#define COUNTING_VIEW /* nothing to see from outside */

static inline void count_system(enum system_count which)
{
    (void)which;
}

static inline size_t counted_calls(const char *const **names, const uint64_t **counts)
{
    (void)names, (void)counts;
    return 0;
}

#if HEAPSMITH_CHECKED
#include "1_base/counting/locks.h"
#else

#define LOCKS_VIEW /* nothing to see from outside */

static inline void count_lock(void)
{
}

static inline uint32_t locks_uncounted(void)
{
    return 0;
}

static inline void count_locks_of(unsigned path, uint32_t locks)
{
    (void)path;
    (void)locks;
}

static inline void count_locks(unsigned path)
{
    (void)path;
}

static inline void set_stage(enum lock_stage stage)
{
    (void)stage;
}

static inline unsigned stage_now(void)
{
    return STAGE_OWN;
}

static inline size_t counted_locks(const char *const **names, const uint64_t **counts)
{
    (void)names, (void)counts;
    return 0;
}

static inline void report_locks(struct text *out)
{
    (void)out;
}

static inline void forget_locks(void)
{
}

#endif
