/* List over further levels: the slow paths. */
#pragma once

#include "8_threads/front/linked_list.h"

void *list_over_refill(struct heap *heap, unsigned class);
void list_over_spill(struct heap *heap, unsigned class, void *block);
void list_over_drain(struct heap *heap, unsigned class);
