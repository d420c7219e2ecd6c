/* Counts of locks and system calls, and of the hit path: which of them the library keeps.
 *
 * Locks count by path and stage (docs/machine-rooms.md, 'locks'). Who takes a lock says what for as soon as that is
 * known, and before its thread takes another. So the counts add up to the locks taken. */
#pragma once

#include <stddef.h>
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

/* Where the slab of an acquire comes from. */
enum lock_stage { STAGE_OWN, STAGE_SAME, STAGE_OTHER, STAGE_CLAIM, STAGE_SUPERSLAB, STAGE_NONE, LOCK_STAGES };

/* What a lock is taken for: the counters. To those of takes and acquires the stage is added. */
enum lock_path {
    LOCKS_TAKE,
    LOCKS_ACQUIRE = LOCKS_TAKE + LOCK_STAGES - STAGE_SAME, /* none of STAGE_OWN */
    LOCKS_RETIRE = LOCKS_ACQUIRE + LOCK_STAGES,
    LOCKS_GIVE,
    LOCKS_BATCH_TAKE,
    LOCKS_BATCH_KEEP,
    LOCKS_REMOTE_PUT,
    LOCKS_REMOTE_DRAIN,
    LOCKS_RUN_TAKE,
    LOCKS_RUN_GIVE,
    LOCKS_RUN_EXTEND,
    LOCKS_RUN_SPILL,
    LOCKS_HUGE_TAKE,
    LOCKS_HUGE_GIVE,
    LOCKS_HUGE_RESIZE,
    LOCKS_HEAP_START,
    LOCKS_HEAP_END,
    LOCKS_PREWARM,
    LOCKS_BACKGROUND,
    LOCKS_LOOK,
    LOCKS_ASK,
    LOCKS_OTHER,
    LOCK_COUNTERS,
};

#include COUNTING_ROW
