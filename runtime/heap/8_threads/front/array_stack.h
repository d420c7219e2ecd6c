/* Array stack: the slow paths. */
#pragma once

#include "8_threads/front/stack.h"

void *array_stack_refill(struct heap *heap, unsigned class);
void array_stack_flush(struct heap *heap, unsigned class, void *block);
void array_stack_resize(struct heap *heap, unsigned class, uint32_t capacity); /* the surplus goes to the store */
