/* Shards by "class": the classes take turns, so all blocks of a class have one shard. */
#pragma once

#include "5_slab_policies/shards/shard_locks.h"

enum {
    SHARD_TRANSFERS = 1, /* classes have their own slots in the transfer cache anyway */
    SHARD_CLASSES = (CLASS_COUNT + SHARDS - 1) / SHARDS, /* that have places in each shard */
    SHARD_STEP = SHARDS, /* from the class of one place to that of the next */
};

static inline unsigned shard_of(const struct heap *heap, unsigned class)
{
    return class % SHARDS;
}

/* Of a class's store and numbers among those of its shard. */
static inline unsigned shard_place(unsigned class)
{
    return class / SHARDS;
}

static inline unsigned shard_to(const struct slab *slab, unsigned class)
{
    return class % SHARDS;
}

static inline bool shard_has(unsigned shard, unsigned class)
{
    return class % SHARDS == shard;
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
