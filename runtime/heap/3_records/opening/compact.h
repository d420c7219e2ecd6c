/* Where the slots of a stack are: those of stacks with few blocks lie together, before those that a class has of its own. */
#pragma once

#include "3_records/opening/opens_after.h"

#define OPENING_VIEW NUMBER("COMPACT_BLOCKS", COMPACT_BLOCKS)

enum { COMPACT_SLOTS = (COMPACT_BLOCKS + 1) * CLASS_COUNT }; /* the first of each class's stays NULL */

/* A stack that is not open counts as compact. */
static inline bool stack_is_compact(struct heap *heap, unsigned class, void *const *top)
{
    return hs_opens_after[class] != 0 && top <= heap->slot + COMPACT_SLOTS;
}

static inline void **compact_slots(struct heap *heap, unsigned class)
{
    return heap->slot + (size_t)(COMPACT_BLOCKS + 1) * class + 1;
}

/* The slot of the oldest block of a class's stack with this top. */
static inline void **stack_slots_at(struct heap *heap, unsigned class, void *const *top)
{
    return stack_is_compact(heap, class, top) ? compact_slots(heap, class) : heap->slot + hs_class[class].slot;
}

static inline void **stack_slots(struct heap *heap, unsigned class)
{
    return stack_slots_at(heap, class, hs_stack_top(heap, class));
}

/* The slot of the oldest block, once this class has an empty stack with room for `blocks` blocks. */
static inline void **stack_slots_for(struct heap *heap, unsigned class, uint32_t blocks)
{
    if (blocks <= COMPACT_BLOCKS && stack_is_compact(heap, class, hs_stack_top(heap, class)))
        return compact_slots(heap, class);
    return heap->slot + hs_class[class].slot;
}

/* The most blocks of a stack with these slots. */
static inline uint32_t stack_room(struct heap *heap, unsigned class, void *const *slots)
{
    const uint32_t capacity = hs_capacity(heap, class);
    return stack_is_compact(heap, class, slots) && capacity > COMPACT_BLOCKS ? COMPACT_BLOCKS : capacity;
}
