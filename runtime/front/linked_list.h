/* Linked list: the slow paths. */
#ifndef HEAPSMITH_FRONT_LINKED_LIST_H
#define HEAPSMITH_FRONT_LINKED_LIST_H

#include "heap.h"
#include "links.h"

#pragma GCC visibility push(hidden)

void *linked_list_refill(struct heap *heap, unsigned class);
void linked_list_flush(struct heap *heap, unsigned class, void *block);
void linked_list_drain(struct heap *heap, unsigned class);

#pragma GCC visibility pop

#endif
