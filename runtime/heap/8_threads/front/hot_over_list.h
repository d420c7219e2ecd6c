/* Hot over list: the slow paths. */
#pragma once

#include "8_threads/front/stack.h"

void *hot_over_list_refill(struct heap *heap, unsigned class);
void hot_over_list_spill(struct heap *heap, unsigned class, void *block);
void hot_over_list_drain(struct heap *heap, unsigned class);
