/* Remote free: by threads that are not the owner; and which store a heap uses. */
#pragma once

#include "1_base/check.h"
#include "1_base/cold.h"
#include "3_records/heap.h"
#include "2_system/locks.h"
#include "3_records/span.h"

struct class_slabs *remote_slabs(struct heap *heap, unsigned class); /* of the store from which the heap takes; it is locked */
void remote_lock_store(struct heap *heap, unsigned class);
void remote_unlock_store(struct heap *heap, unsigned class);
/* Blocks of a class are given one after the other between begin and end: `held` says what is locked for that. */
unsigned remote_give_begin(unsigned class);
struct class_slabs *remote_give_to(struct heap *heap, const struct slab *slab, unsigned class, unsigned *held);
void remote_give_end(unsigned held);
void remote_lock_pool(void); /* around pool work inside a store operation */
void remote_unlock_pool(void);
void remote_own(struct slab *slab, struct heap *heap);
bool remote_drain(struct heap *heap); /* true if blocks came */
COLD void remote_reset(void);

#include REMOTE_DRAINS

/* The checked build: who works under the pool lock has it. */
static inline void check_pool_held(void)
{
    if (HEAPSMITH_CHECKED)
        check(hs_holds_pool(), "the pool lock is held");
}
