/* FIFO ring: the slow paths. */
#pragma once

#include "3_records/heap.h"

void *fifo_ring_refill(struct heap *heap, unsigned class);
void fifo_ring_flush(struct heap *heap, unsigned class, void *block);
void *fifo_ring_lend(struct heap *heap, unsigned class);
void fifo_ring_drain(struct heap *heap, unsigned class);
