/* Remote free "local cache": one store for all heaps, under one lock; a block goes into the front of whoever frees it. */
#include "remote/remote.h"

#include "store.h"
#include "thread.h"

static struct store store; /* under the pool lock */

struct store *remote_store(struct heap *heap)
{
    (void)heap;
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

/* The store's lock is the pool's. */
void remote_lock_pool(void)
{
}

void remote_unlock_pool(void)
{
}

void remote_own(struct slab *slab, struct heap *heap)
{
    (void)slab;
    (void)heap;
}

bool remote_drain(struct heap *heap)
{
    (void)heap;
    return false;
}

struct heap *remote_freeing_heap(void)
{
    struct heap *heap = hs_heap_of(hs_self);
    return heap != NULL ? heap : &hs_no_heap;
}

/* Straight to the store only where the thread gets no heap: one that dies, or that lacks memory. */
void remote_orphan_free(unsigned class, void *block)
{
    if (remote_freeing_heap() != &hs_no_heap) {
        hs_free_small(block);
        return;
    }
    count_shared(&hs_no_heap.count[class].direct, 1);
    remote_lock_store();
    hs_give(&hs_no_heap, class, block);
    remote_unlock_store();
}

void remote_reset(void)
{
    store = (struct store){ 0 };
}
