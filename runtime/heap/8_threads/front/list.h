/* A level 0 that is a list: what several fronts do with it. */
#pragma once

#include "3_records/heap.h"
#include "4_blocks/links.h"

static inline void *linked_pop(struct front *front)
{
    struct block *first = front->list;
    front->list = link_take(first);
    word_subtract(&front->held, 1);
    return first;
}

static inline void linked_push(struct front *front, void *block)
{
    struct block *first = block;
    link_set(first, front->list);
    front->list = first;
    word_add(&front->held, 1);
}

/* For another class: uncounted; NULL if it is empty. */
static inline void *linked_list_lend(struct heap *heap, unsigned class)
{
    return heap->front[class].held > 0 ? linked_pop(&heap->front[class]) : NULL;
}
