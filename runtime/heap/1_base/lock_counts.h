/* Locks by path and stage (docs/machine.md section 10): counted in the checked build and with counting "everything".
 *
 * Who takes a lock says what for, as soon as that is known, and before its thread takes another. So the counts add up to
 * the locks taken. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "1_base/counting/counting.h"
#include "1_base/text.h"

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

#if COUNTING_LOCKS

/* Written by any thread. */
extern uint64_t hs_lock_count[LOCK_COUNTERS];
extern const char *const hs_lock_counter[LOCK_COUNTERS];

#define LOCKS_VIEW                                                                                          \
    ADDRESS("lock_counts", hs_lock_count), ADDRESS("lock_counters", hs_lock_counter),                       \
        NUMBER("LOCK_COUNTERS", LOCK_COUNTERS),

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

static inline void set_stage(enum lock_stage stage)
{
    hs_acquired = stage;
}

static inline unsigned stage_now(void)
{
    return hs_acquired;
}

COLD void report_locks(struct text *out);

static inline void forget_locks(void)
{
    for (unsigned path = 0; path < LOCK_COUNTERS; path++)
        hs_lock_count[path] = 0;
}

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

static inline void set_stage(enum lock_stage stage)
{
    (void)stage;
}

static inline unsigned stage_now(void)
{
    return STAGE_OWN;
}

static inline void report_locks(struct text *out)
{
    (void)out;
}

static inline void forget_locks(void)
{
}

#endif

/* What the thread's new locks are for. */
static inline void count_locks(unsigned path)
{
    count_locks_of(path, locks_uncounted());
}
