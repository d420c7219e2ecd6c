/* Shards of nodes: processors, and the memory that is near them; the shard of a heap is that of the node it is used on. */
#pragma once

#include "3_records/span.h"
#include "5_slab_policies/shards/by_thread.h"
#include "5_slab_policies/shards/several.h"

extern uint32_t hs_nodes; /* that have processors; below 2 all blocks are of shard 0, and nothing is bound */

unsigned nodes_shard(int32_t processor); /* of its node; of node 0 if no node lists it */
void shards_start(void); /* reads what the system tells, unless a folder did */
bool nodes_told(const char *folder);
void nodes_bind(unsigned shard, void *start, size_t bytes);

static inline uint32_t nodes_known(void)
{
    return __atomic_load_n(&hs_nodes, __ATOMIC_RELAXED);
}

/* Without a lock, as shard_to. */
static inline bool shard_keeps(const struct heap *heap, unsigned class, void *const *blocks, uint32_t count, unsigned *shard)
{
    (void)class;
    if (nodes_known() < 2) {
        *shard = (unsigned)heap->rooms.shard;
        return true;
    }
    *shard = (unsigned)slab_of(blocks[0])->shard;
    for (uint32_t index = 1; index < count; index++)
        if (slab_of(blocks[index])->shard != *shard)
            return false;
    return true;
}

static inline void shards_memory_mapped(unsigned shard, void *start, size_t bytes)
{
    if (nodes_known() > 1)
        nodes_bind(shard, start, bytes);
}

#include SHARDS_HERE
