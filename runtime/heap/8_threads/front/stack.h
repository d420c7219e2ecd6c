/* A level 0 that is a stack: what several fronts do with it. */
#pragma once

#include "3_records/heap.h"

void stack_drain(struct heap *heap, unsigned class);

static inline void *stack_newest(struct heap *heap, unsigned class)
{
    void **top = heap->top[1 + class] - 1;
    __atomic_store_n(&heap->top[1 + class], top, __ATOMIC_RELAXED);
    return *top;
}

/* For another class: uncounted; NULL if it is empty. */
static inline void *stack_lend(struct heap *heap, unsigned class)
{
    return stack_held(heap, class) > 0 ? stack_newest(heap, class) : NULL;
}
