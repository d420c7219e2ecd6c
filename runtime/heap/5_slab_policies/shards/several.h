/* Several shards: each has a store with a lock, and a transfer cache with another. */
#pragma once

#include "2_system/numbered_locks.h"

enum {
    SHARD_COUNT = SHARDS,
    SHARD_ALIGNMENT = 64, /* no line has data of two shards */
    SHARD_ROW = (SHARD_CLASSES + 15) / 16 * 16, /* whole lines of a number for each place */
    TRANSFER_APART = 1, /* the transfer cache has locks of its own; a store's lock may be taken under one */
};

/* Around pool work inside a store operation. */
static inline void shard_lock_pool(void)
{
    hs_lock_pool();
}

static inline void shard_unlock_pool(void)
{
    hs_unlock_pool();
}

static inline void shard_check(unsigned shard)
{
    if (HEAPSMITH_CHECKED)
        check(hs_holds_number(SHARDS_FIRST_LOCK + SHARDS + shard), "the lock of the shard is held");
}
