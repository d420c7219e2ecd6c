/* Array stack: the slow paths. */
#ifndef HEAPSMITH_FRONT_ARRAY_STACK_H
#define HEAPSMITH_FRONT_ARRAY_STACK_H

#include "heap.h"

#pragma GCC visibility push(hidden)

void *array_stack_fill(struct heap *heap, unsigned class); /* the empty stack; the first block */
void *array_stack_pop(struct heap *heap, unsigned class);
void *array_stack_refill(struct heap *heap, unsigned class);
void array_stack_flush(struct heap *heap, unsigned class, void *block);
void array_stack_drain(struct heap *heap, unsigned class);

#pragma GCC visibility pop

#endif
