/* Shards "striped": heaps or classes take turns. */
#pragma once

#include "5_slab_policies/shards/no_nodes.h"

#include SHARDS_BY

#include "5_slab_policies/shards/several.h"

#include SHARDS_HEAP

/* Whose batch these blocks of a flush may be; false: no shard's. */
static inline bool shard_keeps(const struct heap *heap, unsigned class, void *const *blocks, uint32_t count, unsigned *shard)
{
    (void)blocks;
    (void)count;
    *shard = shard_of(heap, class);
    return true;
}
