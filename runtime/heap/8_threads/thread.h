/* The life of heaps. */
#pragma once

#include "1_base/cold.h"
#include "3_records/heap.h"
#include "5_slab_policies/remote/remote.h"


bool hs_started(void);                   /* the spans exist, now if not before; false without address space */
struct heap *hs_heap_start(void);        /* the calling thread's heap, adopted or created; hs_no_heap without memory */
struct heap *hs_own_heap(void);          /* the calling thread's, or its processor's; hs_no_heap without any */
void hs_drain_fronts(struct heap *heap); /* every block of its fronts goes to the store; by its own thread */
COLD void hs_forget_heaps(void);         /* checked build: as if no thread had ever allocated */

/* A thread without a heap frees a block: to its owner, or with a heap that it gets now, or straight to the store where it
 * gets none: a thread that dies, or that lacks memory. */
void hs_free_without_heap(unsigned class, void *block);

/* A slow operation looks at what is empty, where time passes or memory has a limit. Without a lock. */
#ifdef RELEASE_LOOKS
void hs_look(void);
#else
static inline void hs_look(void)
{
}
#endif

/* Before a refill: frees by other threads come into the heap's fronts. May an empty front have blocks since it was looked at?
 * One of a heap that was just created may, and one of a heap that was just adopted. */
static inline bool hs_filled_meanwhile(struct heap *heap, unsigned class)
{
    hs_look();
#ifdef DRAINS_BY_CLASS
    bool came = remote_drain_class(heap, class);
#else
    (void)class;
    bool came = remote_drain(heap);
#endif
#if defined PREWARMS_FRONTS || defined DRAIN_MOST
    came = true;
#endif
    return came;
}

/* The heap's thread freed a block, and its front gave blocks to the store for it: the remote list may be due. */
#ifdef DRAIN_INTERVAL
void hs_flushed(struct heap *heap);
#else
static inline void hs_flushed(struct heap *heap)
{
    (void)heap;
}
#endif

/* The heap itself, or the one that a thread without any gets now; hs_no_heap if it gets none. */
static inline struct heap *hs_heap_of(struct heap *heap)
{
    return heap != &hs_no_heap ? heap : hs_heap_start();
}
