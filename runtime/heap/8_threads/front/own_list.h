/* A level 0 that is a list: heap->front[].list, LIFO through the blocks' first words; what several fronts do with it. */
#pragma once

#include "8_threads/front/list.h"

void *linked_fill(struct heap *heap, unsigned class); /* the empty list from the store; its first block, or a run */
void linked_give(struct heap *heap, unsigned class, uint32_t blocks); /* the newest to the store, newest first */
