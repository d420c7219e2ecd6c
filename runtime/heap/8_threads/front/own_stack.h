/* The stack of a thread's heap: what several fronts do with it. */
#pragma once

#include "8_threads/front/stack.h"
#include "8_threads/large.h"
#include "moments.h"

void *stack_fill(struct heap *heap, unsigned class); /* the empty stack; returns its first block */
void *stack_pop(struct heap *heap, unsigned class);
bool stack_begins(struct heap *heap, unsigned class, void *block); /* whether it was not open; then the block is its first */

/* So many blocks came to the slots of the empty stack, `slot`: the last is the first. That one, or a run. */
static inline void *stack_filled(struct heap *heap, unsigned class, void *const *slot, uint32_t taken)
{
    if (taken == 0)
        return hs_alloc_run_for(class);
    if (!stack_is_open(heap, class))
        stack_open(heap, class);
    stack_hold(heap, class, taken - 1);
    void *block = slot[taken - 1];
    on_front_missed(heap, class);
    return block;
}
