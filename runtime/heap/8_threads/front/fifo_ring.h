/* FIFO ring: the slow paths. */
#pragma once

#include "8_threads/front/ring.h"

void *fifo_ring_refill(struct heap *heap, unsigned class);
void fifo_ring_flush(struct heap *heap, unsigned class, void *block);
void fifo_ring_drain(struct heap *heap, unsigned class);

/* For another class: uncounted; NULL if it is empty. */
static inline void *fifo_ring_lend(struct heap *heap, unsigned class)
{
    return heap->front[class].held > 0 ? ring_oldest(heap, class) : NULL;
}
