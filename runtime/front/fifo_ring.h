/* FIFO ring: the slow paths. */
#ifndef HEAPSMITH_FRONT_FIFO_RING_H
#define HEAPSMITH_FRONT_FIFO_RING_H

#include "heap.h"

#pragma GCC visibility push(hidden)

void *fifo_ring_refill(struct heap *heap, unsigned class);
void fifo_ring_flush(struct heap *heap, unsigned class, void *block);
void fifo_ring_drain(struct heap *heap, unsigned class);

#pragma GCC visibility pop

#endif
