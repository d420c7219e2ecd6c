/* The owner drains its list after some frees too. The emitted free counts those of the thread's own blocks. */
#pragma once

#include "3_records/heap.h"

void remote_frees_end(void *block); /* of this thread's heap: the free after which it drains */
void remote_free_counted(struct heap *owner, unsigned class, void *block); /* by another thread than the owner's */

static inline void remote_heap_begins(struct heap *heap)
{
    heap->rooms.frees_left = DRAIN_FREES;
}
