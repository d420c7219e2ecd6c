/* A level 0 that is a ring: heap->slot[plan.slot ...], of capacity (a power of two), oldest at `head`. */
#pragma once

#include "3_records/heap.h"
#include "8_threads/large.h"
#include "6_slabs/store.h"

static inline void ring_append(struct heap *heap, unsigned class, void *block)
{
    struct front *front = &heap->front[class];
    const struct class_plan *plan = &hs_class[class];
    heap->slot[plan->slot + ((front->head + front->held) & (plan->capacity - 1))] = block;
    word_add(&front->held, 1);
}

static inline void *ring_oldest(struct heap *heap, unsigned class)
{
    struct front *front = &heap->front[class];
    const struct class_plan *plan = &hs_class[class];
    void *block = heap->slot[plan->slot + front->head];
    front->head = (front->head + 1) & (plan->capacity - 1);
    word_subtract(&front->held, 1);
    return block;
}

/* `taken` blocks came to the slots of the empty ring, the last is the first. Returns the first, or a run. */
static inline void *ring_filled(struct heap *heap, unsigned class, uint32_t taken)
{
    heap->front[class].head = 0;
    hs_reverse(heap->slot + hs_class[class].slot, taken);
    word_set(&heap->front[class].held, taken);
    return taken > 0 ? ring_oldest(heap, class) : hs_alloc_run_for(class);
}

/* Fills the empty ring from the store; its first block, or a run. */
static inline void *ring_refill(struct heap *heap, unsigned class)
{
    return ring_filled(heap, class, hs_take(heap, class, heap->slot + hs_class[class].slot, hs_class[class].refill));
}
