/* Counts of locks and system calls, which a design with counting "everything" keeps; others compile none of them. */
#pragma once

#include <stdint.h>

#include "plan.h"

enum system_count {
    COUNT_LOCK,
    COUNT_LOCK_WAIT, /* of these, locks that another thread held */
    COUNT_FUTEX,
    COUNT_MMAP,
    COUNT_MUNMAP,
    COUNT_MREMAP,
    COUNT_MPROTECT,
    COUNT_MADVISE,
    COUNT_MINCORE,
    COUNT_MBIND,
    SYSTEM_COUNTERS,
};

#ifdef COUNTS_EVERYTHING
/* Written by any thread. */
extern uint64_t hs_system_count[SYSTEM_COUNTERS];
extern const char *const hs_system_counter[SYSTEM_COUNTERS];
#endif

static inline void count_system(enum system_count which)
{
#ifdef COUNTS_EVERYTHING
    __atomic_fetch_add(&hs_system_count[which], 1, __ATOMIC_RELAXED);
#else
    (void)which;
#endif
}
