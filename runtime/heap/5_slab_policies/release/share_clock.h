/* What was freed counts for the patience of a heap that has shrunk; an age queue has an order and no times. */
#pragma once

enum { RUN_STAMP_BYTES = 0 };

extern uint64_t hs_share_waited; /* bytes; of two at once one may be lost */

static inline void release_freed(size_t bytes)
{
    __atomic_store_n(&hs_share_waited, __atomic_load_n(&hs_share_waited, __ATOMIC_RELAXED) + bytes, __ATOMIC_RELAXED);
}

static inline uint64_t release_clock(void)
{
    return 0;
}
