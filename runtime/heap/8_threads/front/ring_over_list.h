/* Ring over list: the slow paths. */
#pragma once

#include "3_records/heap.h"

void *ring_over_list_refill(struct heap *heap, unsigned class);
void ring_over_list_spill(struct heap *heap, unsigned class, void *block);
void *ring_over_list_lend(struct heap *heap, unsigned class);
void ring_over_list_drain(struct heap *heap, unsigned class);
