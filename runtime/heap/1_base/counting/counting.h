/* Counts of locks and system calls, and of the hit path: which of them the library keeps. */
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

#include COUNTING_ROW
