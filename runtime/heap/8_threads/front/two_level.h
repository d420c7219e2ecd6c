/* Two levels: the slow paths. */
#pragma once

#include "8_threads/front/stack.h"

void *two_level_refill(struct heap *heap, unsigned class);
void two_level_spill(struct heap *heap, unsigned class, void *block);
void two_level_drain(struct heap *heap, unsigned class);
