/* What a refill brought for an empty level 0, by its kind: the last block is the first. That one, or a run. */
#pragma once

#include "8_threads/front/list.h"
#include "8_threads/front/stack.h"
#include "8_threads/large.h"
#include "moments.h"

static inline void *linked_filled(struct heap *heap, unsigned class, void *const *taken, uint32_t blocks)
{
    if (blocks == 0)
        return hs_alloc_run_for(class);
    for (uint32_t index = 0; index + 1 < blocks; index++)
        linked_push(&heap->front[class], taken[index]);
    void *block = taken[blocks - 1];
    on_front_missed(heap, class);
    return block;
}

/* `slot`: its own, or those that it has from now on. An empty stack that is open has its top there. */
static inline void *stack_filled(struct heap *heap, unsigned class, void **slot, uint32_t taken)
{
    if (taken == 0)
        return hs_alloc_run_for(class);
    if (heap->top[1 + class] != slot)
        heap->end[1 + class] = slot + stack_room(heap, class, slot);
    __atomic_store_n(&heap->top[1 + class], slot + taken - 1, __ATOMIC_RELAXED);
    void *block = slot[taken - 1];
    on_front_missed(heap, class);
    return block;
}
