/* Remote free "owner's list": each heap has a store; others push blocks on the owner's lock-free list.
 *
 * Protocol: heap->remote is a LIFO. Push: load the head, link to it, compare-and-swap with release, so that whoever takes
 * the list sees the link. Take: exchange with NULL, acquire. Only the owner takes, and it takes all, so no pop can meet a
 * recycled head (no ABA). */
#include "remote/owner_list.h"

#include "links.h"
#include "locks.h"
#include "remote/remote.h"

struct store *remote_store(struct heap *heap)
{
    return &heap->store;
}

/* A heap's store is its thread's alone. */
void remote_lock_store(void)
{
}

void remote_unlock_store(void)
{
}

void remote_lock_pool(void)
{
    hs_lock_pool();
}

void remote_unlock_pool(void)
{
    hs_unlock_pool();
}

void remote_own(struct slab *slab, struct heap *heap)
{
    slab->owner = heap;
}

void remote_free(struct heap *owner, unsigned class, void *block)
{
    check(owner != NULL, "a freed block lies in a slab in use");
    struct block *first = block;
    struct block *head = __atomic_load_n(&owner->remote, __ATOMIC_RELAXED);
    count_shared(&owner->count[class].remote, 1);
    do {
        link_set(first, head);
    } while (!__atomic_compare_exchange_n(&owner->remote, &head, first, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

bool remote_drain(struct heap *heap)
{
    if (__atomic_load_n(&heap->remote, __ATOMIC_RELAXED) == NULL)
        return false;
    struct block *first = __atomic_exchange_n(&heap->remote, NULL, __ATOMIC_ACQUIRE);
    while (first != NULL) {
        struct block *block = first;
        first = link_take(first);
        unsigned class = slab_of(block)->class;
        count_own(&heap->count[class].drained, 1);
        hs_free_small(block);
    }
    return true;
}

bool remote_takes(unsigned class, void *block)
{
    remote_free(slab_of(block)->owner, class, block);
    return true;
}

void remote_reset(void)
{
}
