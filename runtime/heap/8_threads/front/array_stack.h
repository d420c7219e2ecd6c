/* Array stack: the slow paths. */
#pragma once

#include "6_slabs/store.h"
#include "8_threads/front/stack.h"

#include <string.h>

void *array_stack_refill(struct heap *heap, unsigned class);
void array_stack_flush(struct heap *heap, unsigned class, void *block);

/* For a learner: the surplus goes to the store. */
static inline void array_stack_resize(struct heap *heap, unsigned class, uint32_t capacity)
{
    void **slot = stack_slots(heap, class);
    uint32_t held = stack_held(heap, class);
    heap->front[class].capacity = capacity;
    if (stack_is_open(heap, class))
        heap->end[1 + class] = slot + stack_room(heap, class, slot);
    if (held <= capacity)
        return;
    uint32_t surplus = held - capacity;
    count_own(&heap->count[class].flushed, surplus);
    hs_give_all(heap, class, slot, surplus);
    memmove(slot, slot + surplus, capacity * sizeof *slot);
    stack_hold(heap, class, capacity);
}
