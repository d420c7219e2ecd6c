/* A level 0 that is a list: heap->front[].list, LIFO through the blocks' first words; what several fronts do with it. */
#pragma once

#include "3_records/heap.h"
#include "4_blocks/links.h"
#include "8_threads/large.h"
#include "moments.h"

void *linked_fill(struct heap *heap, unsigned class); /* the empty list from the store; its first block, or a run */
void linked_give(struct heap *heap, unsigned class, uint32_t blocks); /* the newest to the store, newest first */

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

/* Blocks came for the empty list, the last is the first. That one, or a run. */
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

/* For another class: uncounted; NULL if it is empty. */
static inline void *linked_list_lend(struct heap *heap, unsigned class)
{
    return heap->front[class].held > 0 ? linked_pop(&heap->front[class]) : NULL;
}
