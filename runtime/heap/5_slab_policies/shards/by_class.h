/* Shards by "class": the classes take turns, so all blocks of a class have one shard. */
#pragma once

#include "5_slab_policies/shards/shard_locks.h"

enum { SHARD_TRANSFERS = 1 }; /* classes have their own slots in the transfer cache anyway */

static inline unsigned shard_of(const struct heap *heap, unsigned class)
{
    return class % SHARDS;
}

static inline unsigned shard_to(const struct slab *slab, unsigned class)
{
    return class % SHARDS;
}

/* A give is of one class, so it takes one lock, before its first block. */
static inline unsigned shard_give_begin(unsigned class)
{
    unsigned shard = shard_to(NULL, class);
    shard_lock(shard);
    return shard;
}

static inline void shard_give_to(unsigned shard, unsigned *held)
{
}

static inline void shard_give_end(unsigned held)
{
    shard_unlock(held);
}

static inline void shard_own(struct slab *slab, const struct heap *heap)
{
}
