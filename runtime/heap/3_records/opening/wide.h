/* Where the slots of a stack are: each class has its own, as many as its capacity may come to. */
#pragma once

#define OPENING_VIEW /* nothing of compact stacks */

/* The slot of the oldest block of a class's stack. */
static inline void **stack_slots(struct heap *heap, unsigned class)
{
    return heap->slot + hs_class[class].slot;
}

/* The slot of the oldest block of a stack with this top. */
static inline void **stack_slots_at(struct heap *heap, unsigned class, void *const *top)
{
    (void)top;
    return stack_slots(heap, class);
}

/* The slot of the oldest block, once this class has an empty stack with room for `blocks` blocks. */
static inline void **stack_slots_for(struct heap *heap, unsigned class, uint32_t blocks)
{
    (void)blocks;
    return stack_slots(heap, class);
}

/* The most blocks of a stack with these slots. */
static inline uint32_t stack_room(struct heap *heap, unsigned class, void *const *slots)
{
    (void)slots;
    return hs_capacity(heap, class);
}
