/* A level 0 that is a stack: what several fronts do with it. */
#pragma once

#include "heap.h"

void *stack_fill(struct heap *heap, unsigned class); /* the empty stack; returns its first block */
void *stack_pop(struct heap *heap, unsigned class);
void *stack_lend(struct heap *heap, unsigned class); /* uncounted; NULL if it is empty */
void stack_drain(struct heap *heap, unsigned class);
