/* Linked list: the slow paths. */
#pragma once

#include "8_threads/front/own_list.h"

void *linked_list_refill(struct heap *heap, unsigned class);
void linked_list_flush(struct heap *heap, unsigned class, void *block);
void linked_list_drain(struct heap *heap, unsigned class);

/* For a learner: the surplus goes to the store. */
static inline void linked_list_resize(struct heap *heap, unsigned class, uint32_t capacity)
{
    struct front *front = &heap->front[class];
    front->capacity = capacity;
    if (front->held <= capacity)
        return;
    uint32_t surplus = front->held - capacity;
    count_own(&heap->count[class].flushed, surplus);
    linked_give(heap, class, surplus);
}
