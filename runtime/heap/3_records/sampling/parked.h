/* The top of a stack, which may be parked: then malloc and free find it empty and full (9_api/sampling/ready.h). */
#pragma once

#define PARKED_VIEW NUMBER("heap.parked", offsetof(struct heap, caches.parked)) FIELD(heap, row_of) NUMBER("DIRECT_LIMIT", DIRECT_LIMIT)

static inline void **hs_stack_top(struct heap *heap, unsigned class)
{
    void **parked = __atomic_load_n(&heap->caches.parked[class], __ATOMIC_RELAXED);
    return parked != NULL ? parked : __atomic_load_n(&heap->top[1 + class], __ATOMIC_RELAXED);
}

static inline void hs_set_stack_top(struct heap *heap, unsigned class, void **top)
{
    void ***at = heap->caches.parked[class] != NULL ? &heap->caches.parked[class] : &heap->top[1 + class];
    __atomic_store_n(at, top, __ATOMIC_RELAXED);
}
