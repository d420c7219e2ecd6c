/* The heap of the calling thread. */
#pragma once

#include "1_base/cold.h"
#include "3_records/heap.h"
#include "5_slab_policies/remote/remote.h"
#include "8_threads/life.h"
#include "moments.h"

#include HEAPS_ROW

#include PREWARM_ROW

/* A thread without a heap frees a block: to its owner, or with a heap that it gets now, or straight to the store where it
 * gets none: a thread that dies, or that lacks memory. */
void hs_free_without_heap(unsigned class, void *block);

/* Whoever wants to act from time to time, without a lock; NULL: nobody. */
extern void (*hs_slow_listener)(void);

static inline void hs_tell_listener(void)
{
    void (*listener)(void) = __atomic_load_n(&hs_slow_listener, __ATOMIC_RELAXED);
    if (__builtin_expect(listener != NULL, 0))
        listener();
}

/* A refill. Without a lock. */
static inline void hs_slow_path(void)
{
    on_slow_path();
    hs_tell_listener();
}

/* Before a refill: frees by other threads come into the heap's fronts. May an empty front have blocks since it was looked at?
 * One of a heap that was just created may, and one of a heap that was just adopted. */
static inline bool hs_filled_meanwhile(struct heap *heap, unsigned class)
{
    hs_slow_path();
    bool came = remote_comes(heap, class);
    return came || PREWARM_FILLS;
}

/* The heap itself, or the one that a thread without any gets now; hs_no_heap if it gets none. */
static inline struct heap *hs_heap_of(struct heap *heap)
{
    return heap != &hs_no_heap ? heap : hs_heap_start();
}
