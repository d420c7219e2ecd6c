/* The locks of a shard: that of its transfer cache and that of its store, which may be taken under the first. */
#pragma once

#include "2_system/numbered_locks.h"

static inline void shard_lock_transfer(unsigned shard)
{
    hs_lock_number(SHARDS_FIRST_LOCK + shard);
}

static inline void shard_unlock_transfer(unsigned shard)
{
    hs_unlock_number(SHARDS_FIRST_LOCK + shard);
}

static inline void shard_lock(unsigned shard)
{
    hs_lock_number(SHARDS_FIRST_LOCK + SHARDS + shard);
}

static inline void shard_unlock(unsigned shard)
{
    hs_unlock_number(SHARDS_FIRST_LOCK + SHARDS + shard);
}
