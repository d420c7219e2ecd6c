/* Stack over further levels: the slow paths. */
#pragma once

#include "8_threads/front/stack.h"

void *stack_over_refill(struct heap *heap, unsigned class);
void stack_over_spill(struct heap *heap, unsigned class, void *block);
void stack_over_drain(struct heap *heap, unsigned class);
