/* Shards "off": one store under the pool lock, and the transfer cache with it. */
#pragma once

#include "5_slab_policies/shards/no_nodes.h"
#include "2_system/locks.h"
#include "3_records/slab_record/slab_record.h"

enum {
    SHARD_COUNT = 1,
    SHARD_ALIGNMENT = sizeof(void *),
    SHARD_CLASSES = CLASS_COUNT,
    SHARD_STEP = 1,
    SHARD_ROW = CLASS_COUNT,
    SHARD_TRANSFERS = 1,
    TRANSFER_APART = 0,
};

static inline unsigned shard_of(const struct heap *heap, unsigned class)
{
    return 0;
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

static inline unsigned shard_to(const struct slab *slab, unsigned class)
{
    return 0;
}

static inline unsigned shard_give_begin(unsigned class)
{
    hs_lock_pool();
    return 0;
}

static inline void shard_give_to(unsigned shard, unsigned *held)
{
}

static inline void shard_give_end(unsigned held)
{
    hs_unlock_pool();
}

static inline void shard_lock(unsigned shard)
{
    hs_lock_pool();
}

static inline void shard_unlock(unsigned shard)
{
    hs_unlock_pool();
}

static inline void shard_lock_transfer(unsigned shard)
{
    hs_lock_pool();
}

static inline void shard_unlock_transfer(unsigned shard)
{
    hs_unlock_pool();
}

static inline void shard_lock_pool(void)
{
}

static inline void shard_unlock_pool(void)
{
}

static inline void shard_own(struct slab *slab, const struct heap *heap)
{
}

static inline void shard_check(unsigned shard)
{
    if (HEAPSMITH_CHECKED)
        check(hs_holds_pool(), "the pool lock is held");
}

/* Whose batch these blocks of a flush may be; false: no shard's. */
static inline bool shard_keeps(const struct heap *heap, unsigned class, void *const *blocks, uint32_t count, unsigned *shard)
{
    (void)blocks;
    (void)count;
    *shard = shard_of(heap, class);
    return true;
}
