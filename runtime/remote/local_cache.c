/* Remote free "local cache": one store for all heaps, under one lock; a block goes into the front of whoever frees it. */
#include "remote/remote.h"

#include "locks.h"

static struct store store; /* under the pool lock */

struct store *remote_store(struct heap *heap)
{
    return &store;
}

void remote_lock_store(void)
{
    hs_lock_pool();
}

void remote_unlock_store(void)
{
    hs_unlock_pool();
}

void remote_check_store(void)
{
    check_pool_held();
}

/* The store's lock is the pool's. */
void remote_lock_pool(void)
{
}

void remote_unlock_pool(void)
{
}

void remote_own(struct slab *slab, struct heap *heap)
{
}

bool remote_drain(struct heap *heap)
{
    return false;
}

void remote_reset(void)
{
    store = (struct store){ 0 };
}
