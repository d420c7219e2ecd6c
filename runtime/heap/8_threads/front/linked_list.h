/* Linked list: the slow paths. */
#pragma once

#include "3_records/heap.h"
#include "4_blocks/links.h"

void *linked_list_refill(struct heap *heap, unsigned class);
void linked_list_flush(struct heap *heap, unsigned class, void *block);
void linked_list_resize(struct heap *heap, unsigned class, uint32_t capacity); /* the surplus goes to the store */
void *linked_list_lend(struct heap *heap, unsigned class);
void linked_list_drain(struct heap *heap, unsigned class);
