/* The batches of the transfer cache. */
#pragma once

#include "5_slab_policies/shards/shards.h"
#include "6_slabs/store.h"

/* Per shard and class a LIFO of batches of `flush` blocks each: batches <= transfer, the first at transfer_slot. Under the
 * lock of the shard's cache; batches is looked at without it too, so that who finds nothing to do takes none. idle: flushes
 * since a refill looked, which makes it 0 without the lock. Classes that have a shard each share no slots anyway. */
extern void *hs_transferred[SHARD_TRANSFERS][TRANSFER_SLOTS > 0 ? TRANSFER_SLOTS : 1];
extern uint32_t hs_batches[SHARD_COUNT][SHARD_ROW];
extern uint32_t hs_idle[SHARD_COUNT][SHARD_ROW];

/* Known at compile time where no class has it: then no lock is in sight. */
static inline bool transfer_caches(unsigned class)
{
    return TRANSFER_SLOTS > 0 && hs_class[class].transfer > 0;
}

static inline void **transfer_batch(unsigned shard, unsigned class, uint32_t number)
{
    return hs_transferred[shard % SHARD_TRANSFERS] + hs_class[class].transfer_slot + (size_t)number * hs_class[class].flush;
}

/* To the store, under the lock of the cache. */
static inline void transfer_give(struct heap *heap, unsigned class, void *const *blocks, uint32_t count)
{
    unsigned held = 0;
    if (TRANSFER_APART)
        hs_give_all(heap, class, blocks, count);
    else
        hs_give_batch(heap, class, blocks, count, &held);
}
