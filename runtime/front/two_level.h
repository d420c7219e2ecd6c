/* Two levels: the slow paths. */
#ifndef HEAPSMITH_FRONT_TWO_LEVEL_H
#define HEAPSMITH_FRONT_TWO_LEVEL_H

#include "heap.h"

#pragma GCC visibility push(hidden)

void *two_level_refill(struct heap *heap, unsigned class);
void two_level_spill(struct heap *heap, unsigned class, void *block);
void two_level_drain(struct heap *heap, unsigned class);

#pragma GCC visibility pop

#endif
