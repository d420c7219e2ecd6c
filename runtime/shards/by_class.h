/* Shards by "class": the classes take turns, so all blocks of a class have one shard. */
#pragma once

enum { SHARD_TRANSFERS = 1 }; /* classes have their own slots in the transfer cache anyway */

static inline unsigned shard_of(const struct heap *heap, unsigned class)
{
    return class % SHARDS;
}

static inline unsigned shard_to(const struct slab *slab, unsigned class)
{
    return class % SHARDS;
}

static inline void shard_own(struct slab *slab, const struct heap *heap)
{
}
