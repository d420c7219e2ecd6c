/* Array stack: the slow paths. */
#pragma once

#include "front/stack.h"

void *array_stack_refill(struct heap *heap, unsigned class);
void array_stack_flush(struct heap *heap, unsigned class, void *block);
