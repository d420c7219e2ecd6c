/* The shards of new heaps: they take turns. */
#pragma once

#include "2_system/counters.h"

static inline void shards_heap_made(struct heap *heap)
{
    heap->rooms.shard = hs_count.heaps % SHARDS;
}
