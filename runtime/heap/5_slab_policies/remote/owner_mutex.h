/* Remote free "owner's mutex": what the emitted free calls. */
#pragma once

#include "3_records/heap.h"

void remote_free(struct heap *owner, unsigned class, void *block); /* by another thread than the owner's */

static inline void remote_heap_made(struct heap *heap)
{
    heap->rooms.remote_part[0] = hs_count.heaps % REMOTE_LOCKS;
}
