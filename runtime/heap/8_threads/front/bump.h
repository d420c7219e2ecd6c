/* A level 0 that is a stretch of fresh blocks: heap->front[].list is the next of them, held of them are left. */
#pragma once

#include "3_records/heap.h"
#include "6_slabs/stretch.h"

void *bump_refill(struct heap *heap, unsigned class);
void bump_drain(struct heap *heap, unsigned class);
void *bump_fill(struct heap *heap, unsigned class); /* the empty level, from the store; its first block, or another, or a run */

static inline void *bump_next(struct heap *heap, unsigned class)
{
    word_subtract(&heap->front[class].held, 1);
    return hs_bumped(&heap->front[class].list, hs_class[class].stride);
}

/* For another class: uncounted; NULL if it is empty. */
static inline void *bump_lend(struct heap *heap, unsigned class)
{
    return heap->front[class].held > 0 ? bump_next(heap, class) : NULL;
}
