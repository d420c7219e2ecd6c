/* No front: the slow paths. */
#ifndef HEAPSMITH_FRONT_NONE_H
#define HEAPSMITH_FRONT_NONE_H

#include "heap.h"

#pragma GCC visibility push(hidden)

void *none_alloc(struct heap *heap, unsigned class);
void none_free(struct heap *heap, unsigned class, void *block);

#pragma GCC visibility pop

#endif
