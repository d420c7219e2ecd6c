/* A level 0 that is a stack: what several fronts do with it. */
#ifndef HEAPSMITH_FRONT_STACK_H
#define HEAPSMITH_FRONT_STACK_H

#include "heap.h"

#pragma GCC visibility push(hidden)

void *stack_fill(struct heap *heap, unsigned class); /* the empty stack; the first block */
void *stack_pop(struct heap *heap, unsigned class);
void stack_drain(struct heap *heap, unsigned class);

#pragma GCC visibility pop

#endif
