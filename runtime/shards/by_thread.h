/* Shards by "thread", whose heaps take turns, and of nodes: a slab's record names the shard of the heap that acquired it. */
#pragma once

enum { SHARD_TRANSFERS = SHARDS };

static inline unsigned shard_of(const struct heap *heap, unsigned class)
{
    return (unsigned)heap->shard;
}

/* Without a lock: the shard was written before a block of the slab was handed out. */
static inline unsigned shard_to(const struct slab *slab, unsigned class)
{
    return (unsigned)slab->shard;
}

static inline void shard_own(struct slab *slab, const struct heap *heap)
{
    if (heap != NULL)
        slab->shard = heap->shard;
}
