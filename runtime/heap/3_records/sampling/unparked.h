/* The top of a stack: as malloc and free find it. */
#pragma once

#define PARKED_VIEW /* no stack is */

static inline void **hs_stack_top(struct heap *heap, unsigned class)
{
    return __atomic_load_n(&heap->top[1 + class], __ATOMIC_RELAXED);
}

static inline void hs_set_stack_top(struct heap *heap, unsigned class, void **top)
{
    __atomic_store_n(&heap->top[1 + class], top, __ATOMIC_RELAXED);
}
