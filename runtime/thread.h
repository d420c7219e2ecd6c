/* The life of heaps, and the pool lock. */
#ifndef HEAPSMITH_THREAD_H
#define HEAPSMITH_THREAD_H

#include <stdbool.h>

#include "heap.h"

#pragma GCC visibility push(hidden)

extern __thread bool hs_forking; /* this thread is inside fork() and holds the pool lock and the large lock */

bool hs_started(void); /* the spans exist, now if not before; false without address space */
struct heap *hs_heap_start(void); /* the calling thread's heap, adopted or created; NULL without memory */
void hs_rows_init(struct heap *heap); /* rows.c */
void hs_drain_fronts(struct heap *heap); /* every block of its fronts goes to the store; by its own thread */
void hs_lock_pool(void);            /* slabs without a class, superslabs, abandoned heaps */
void hs_unlock_pool(void);
void hs_forget_heaps(void);         /* checked build: as if no thread had ever allocated */
void hs_visit_heaps(void (*visit)(struct heap *heap, void *with), void *with); /* hs_no_heap too; without a lock */

/* The heap itself, or the one that a thread without any gets now; NULL if it gets none. */
static inline struct heap *hs_heap_of(struct heap *heap)
{
    return heap != &hs_no_heap ? heap : hs_heap_start();
}

#pragma GCC visibility pop

#endif
