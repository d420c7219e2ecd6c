/* A level 0 that is a stack: what several fronts do with it. */
#pragma once

#include "3_records/heap.h"

void *stack_fill(struct heap *heap, unsigned class); /* the empty stack; returns its first block */
void *stack_pop(struct heap *heap, unsigned class);
void *stack_lend(struct heap *heap, unsigned class); /* uncounted; NULL if it is empty */
bool stack_begins(struct heap *heap, unsigned class, void *block); /* whether it was not open; then the block is its first */
void stack_drain(struct heap *heap, unsigned class);
