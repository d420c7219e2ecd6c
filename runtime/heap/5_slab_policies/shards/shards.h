/* Shards: parts of the store and of the transfer cache that heaps share, and their locks (docs/machine.md section 5). */
#pragma once

#include "1_base/check.h"
#include "2_system/locks.h"
#include "3_records/slab_record/slab_record.h"

#ifdef SHARD_NODES
#include "5_slab_policies/shards/nodes.h"
#else
/* Before a heap takes: from here on its shard is that of the node that its thread runs on. */
static inline void shard_enter(struct heap *heap)
{
    (void)heap;
}

/* The memory of a superslab, or of a slab whose address space is memory again, is to be of the shard's node. */
static inline void shard_bind(unsigned shard, void *start, size_t bytes)
{
    (void)shard;
    (void)start;
    (void)bytes;
}

static inline void nodes_start(void)
{
}

/* In place of those of the system the nodes that a folder describes; false: it describes none. */
static inline bool nodes_told(const char *folder)
{
    (void)folder;
    return true;
}
#endif

#ifdef SHARDS
enum {
    SHARD_COUNT = SHARDS,
    SHARD_ALIGNMENT = 64, /* no line has data of two shards */
    SHARD_ROW = (CLASS_COUNT + 15) / 16 * 16, /* whole lines of a number for each class */
    TRANSFER_APART = 1, /* the transfer cache has locks of its own; a store's lock may be taken under one */
};

#ifdef SHARD_RECORDS
#include "5_slab_policies/shards/by_thread.h"
#else
#include "5_slab_policies/shards/by_class.h"
#endif

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
        check(hs_holds_number(SHARDS + shard), "the lock of the shard is held");
}
#else
#include "5_slab_policies/shards/one_store.h"
#endif

#ifndef SHARD_NODES
/* Whose batch these blocks of a flush may be; false: no shard's. */
static inline bool shard_keeps(const struct heap *heap, unsigned class, void *const *blocks, uint32_t count, unsigned *shard)
{
    (void)blocks;
    (void)count;
    *shard = shard_of(heap, class);
    return true;
}
#endif
