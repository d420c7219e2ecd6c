/* Learner "capacities": misses and flushes of the fronts whose capacity can change. Of the heap's own thread. */
#pragma once

#include "3_records/heap.h"

extern void (*const hs_resize[CLASS_COUNT])(struct heap *heap, unsigned class, uint32_t capacity); /* NULL: never changes */

void learner_heap_begins(struct heap *heap);
void learner_front_missed(struct heap *heap, unsigned class);
void learner_front_flushed(struct heap *heap, unsigned class);
