/* The stack of a thread's heap: what several fronts do with it. */
#pragma once

#include "8_threads/front/stack.h"

void *stack_fill(struct heap *heap, unsigned class); /* the empty stack; returns its first block */
void *stack_pop(struct heap *heap, unsigned class);
bool stack_begins(struct heap *heap, unsigned class, void *block); /* whether it was not open; then the block is its first */
