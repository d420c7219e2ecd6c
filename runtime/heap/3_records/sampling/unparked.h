/* The top of a stack: as malloc and free find it. */
#pragma once

#define PARKED_VIEW /* no stack is */

static inline void **hs_stack_top(struct heap *heap, unsigned class)
{
    return __atomic_load_n(&heap->top[1 + class], __ATOMIC_RELAXED);
}
