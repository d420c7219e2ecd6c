/* Linked list: the slow paths. */
#pragma once

#include "3_records/heap.h"
#include "4_blocks/links.h"

void *linked_list_refill(struct heap *heap, unsigned class);
void linked_list_flush(struct heap *heap, unsigned class, void *block);
void linked_list_give(struct heap *heap, unsigned class, uint32_t blocks); /* the newest to the store, newest first */
void linked_list_drain(struct heap *heap, unsigned class);

static inline void *linked_pop(struct front *front)
{
    struct block *first = front->list;
    front->list = link_take(first);
    word_subtract(&front->held, 1);
    return first;
}

/* For a learner: the surplus goes to the store. */
static inline void linked_list_resize(struct heap *heap, unsigned class, uint32_t capacity)
{
    struct front *front = &heap->front[class];
    front->capacity = capacity;
    if (front->held <= capacity)
        return;
    uint32_t surplus = front->held - capacity;
    count_own(&heap->count[class].flushed, surplus);
    linked_list_give(heap, class, surplus);
}

/* For another class: uncounted; NULL if it is empty. */
static inline void *linked_list_lend(struct heap *heap, unsigned class)
{
    return heap->front[class].held > 0 ? linked_pop(&heap->front[class]) : NULL;
}
