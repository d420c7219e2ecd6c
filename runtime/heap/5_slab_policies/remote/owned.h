/* What all kinds share whose heaps own slabs: definitions, taken in by the one kind that a library has. */
#pragma once

#include "3_records/heap.h"
#include "2_system/locks.h"
#include "5_slab_policies/ownership/ownership.h"
#include "5_slab_policies/remote/remote.h"

struct class_slabs *remote_slabs(struct heap *heap, unsigned class)
{
    return &heap->store[class];
}

/* A heap's store is its thread's alone. */
void remote_lock_store(struct heap *heap, unsigned class)
{
}

void remote_unlock_store(struct heap *heap, unsigned class)
{
}

unsigned remote_give_begin(unsigned class)
{
    return 0;
}

struct class_slabs *remote_give_to(struct heap *heap, const struct slab *slab, unsigned class, unsigned *held)
{
    return &heap->store[class];
}

void remote_give_end(unsigned held)
{
}

void remote_lock_pool(void)
{
    hs_lock_pool();
}

void remote_unlock_pool(void)
{
    hs_unlock_pool();
}

void remote_own(struct slab *slab, struct heap *heap)
{
    slab_owned(slab, heap);
}

void remote_reset(void)
{
}

/* A block came out of the heap's remote list: its own thread frees it. */
static inline void free_drained(struct heap *heap, void *block)
{
    count_own(&heap->count[slab_of(block)->class].drained, 1);
    hs_free_small(block);
}

#include REMOTE_INTERVAL
