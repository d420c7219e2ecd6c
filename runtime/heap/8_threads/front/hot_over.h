/* Hot stack over further levels: the slow paths. */
#pragma once

#include "8_threads/front/stack.h"

void *hot_over_refill(struct heap *heap, unsigned class);
void hot_over_spill(struct heap *heap, unsigned class, void *block);
void hot_over_drain(struct heap *heap, unsigned class);
