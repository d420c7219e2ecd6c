/* Remote free "local cache": one store for all heaps, in shards; a block goes into the front of whoever frees it. */
#include "5_slab_policies/remote/remote.h"

#include "5_slab_policies/shards/shards.h"

#include <string.h>

/* Each under the lock of its shard. */
static struct {
    _Alignas(SHARD_ALIGNMENT) struct class_slabs of[SHARD_CLASSES]; /* by shard_place() */
} shards[SHARD_COUNT];

struct class_slabs *remote_slabs(struct heap *heap, unsigned class)
{
    const unsigned shard = shard_of(heap, class);
    shard_check(shard);
    return &shards[shard].of[shard_place(class)];
}

void remote_lock_store(struct heap *heap, unsigned class)
{
    shard_lock(shard_of(heap, class));
}

void remote_unlock_store(struct heap *heap, unsigned class)
{
    shard_unlock(shard_of(heap, class));
}

unsigned remote_give_begin(unsigned class)
{
    const unsigned held = shard_give_begin(class);
    count_locks(LOCKS_GIVE);
    return held;
}

struct class_slabs *remote_give_to(struct heap *heap, const struct slab *slab, unsigned class, unsigned *held)
{
    const unsigned shard = shard_to(slab, class);
    shard_give_to(shard, held);
    count_locks(LOCKS_GIVE);
    shard_check(shard);
    return &shards[shard].of[shard_place(class)];
}

void remote_give_end(unsigned held)
{
    shard_give_end(held);
}

/* Without shards the store's lock is the pool's. */
void remote_lock_pool(void)
{
    shard_lock_pool();
}

void remote_unlock_pool(void)
{
    shard_unlock_pool();
}

void remote_own(struct slab *slab, struct heap *heap)
{
    shard_own(slab, heap);
}

bool remote_drain(struct heap *heap)
{
    return false;
}

void remote_reset(void)
{
    memset(shards, 0, sizeof shards);
}
