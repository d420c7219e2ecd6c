/* Remote free: by threads that are not the owner; and which store a heap uses. */
#pragma once

#include "check.h"
#include "heap.h"
#include "locks.h"
#include "span.h"

struct store *remote_store(struct heap *heap);
void remote_lock_store(void);
void remote_unlock_store(void);
void remote_check_store(void); /* checked build: the caller has locked it */
void remote_lock_pool(void); /* around pool work inside a store operation */
void remote_unlock_pool(void);
void remote_own(struct slab *slab, struct heap *heap);
bool remote_drain(struct heap *heap); /* true if blocks came */
void remote_reset(void);

#ifdef OUTBOX_PLACES
bool remote_drain_class(struct heap *heap, unsigned class); /* for a miss of the class: as much as it needs */
void remote_before_take(struct heap *heap, unsigned class); /* for a refill, when nothing came for the class */
void remote_hand_over(struct heap *heap); /* what its thread freed goes to the owners */
#else
static inline void remote_before_take(struct heap *heap, unsigned class)
{
    (void)heap;
    (void)class;
}

static inline void remote_hand_over(struct heap *heap)
{
    (void)heap;
}
#endif

/* The checked build: who works under the pool lock has it. */
static inline void check_pool_held(void)
{
    if (HEAPSMITH_CHECKED)
        check(hs_holds_pool(), "the pool lock is held");
}
