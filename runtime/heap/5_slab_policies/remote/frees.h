/* The owner drains its list after some frees too. */
#pragma once

#include "3_records/heap.h"

void remote_frees_end(void *block); /* the free after which the heap of this thread drains: of a block of its own */

static inline void remote_heap_begins(struct heap *heap)
{
    heap->rooms.frees_left = DRAIN_FREES;
}
