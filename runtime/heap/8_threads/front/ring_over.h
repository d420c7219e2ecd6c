/* Ring over further levels: the slow paths. */
#pragma once

#include "8_threads/front/ring.h"

void *ring_over_refill(struct heap *heap, unsigned class);
void ring_over_spill(struct heap *heap, unsigned class, void *block);
void ring_over_drain(struct heap *heap, unsigned class);

/* For another class: uncounted; NULL if it is empty. */
static inline void *ring_over_lend(struct heap *heap, unsigned class)
{
    return heap->front[class].held > 0 ? ring_oldest(heap, class) : NULL;
}
