/* Shards by "thread", whose heaps take turns, and of nodes: a slab's record names the shard of the heap that acquired it. */
#pragma once

#include "5_slab_policies/shards/shard_locks.h"

enum { SHARD_TRANSFERS = SHARDS, SHARD_CLASSES = CLASS_COUNT, SHARD_STEP = 1, NO_SHARD = SHARDS };

static inline unsigned shard_of(const struct heap *heap, unsigned class)
{
    (void)class;
    return (unsigned)heap->rooms.shard;
}

static inline unsigned shard_place(unsigned class)
{
    return class;
}

/* Has the shard a store and numbers of the class? */
static inline bool shard_has(unsigned shard, unsigned class)
{
    return true;
}

/* Without a lock: the shard was written before a block of the slab was handed out. */
static inline unsigned shard_to(const struct slab *slab, unsigned class)
{
    (void)class;
    return (unsigned)slab->shard;
}

static inline void shard_own(struct slab *slab, const struct heap *heap)
{
    if (heap != NULL)
        slab->shard = heap->rooms.shard;
}

/* A give locks the shard of its first block when it comes to it. */
static inline unsigned shard_give_begin(unsigned class)
{
    (void)class;
    return NO_SHARD;
}

/* One lock at a time: two gives may meet shards in two orders. */
static inline void shard_give_to(unsigned shard, unsigned *held)
{
    if (*held == shard)
        return;
    if (*held != NO_SHARD)
        shard_unlock(*held);
    shard_lock(shard);
    *held = shard;
}

static inline void shard_give_end(unsigned held)
{
    if (held != NO_SHARD)
        shard_unlock(held);
}
