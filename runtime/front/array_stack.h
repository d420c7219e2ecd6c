/* Array stack: the slow paths. */
#ifndef HEAPSMITH_FRONT_ARRAY_STACK_H
#define HEAPSMITH_FRONT_ARRAY_STACK_H

#include "front/stack.h"

#pragma GCC visibility push(hidden)

void *array_stack_refill(struct heap *heap, unsigned class);
void array_stack_flush(struct heap *heap, unsigned class, void *block);

#pragma GCC visibility pop

#endif
