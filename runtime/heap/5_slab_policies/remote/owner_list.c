/* Remote free "owner's list": each heap has a store; others push blocks on the owner's lock-free list.
 *
 * Protocol: heap->remote is a LIFO. Push: load the head, link to it, compare-and-swap with release, so that whoever takes
 * the list sees the link. Take: exchange with NULL, acquire. Only the owner takes, and it takes all, so no pop can meet a
 * recycled head (no ABA). */
#include "5_slab_policies/remote/owner_list.h"

#include "4_blocks/links.h"
#include "5_slab_policies/remote/owned.h"
#include "5_slab_policies/remote/remote.h"

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
    drain_begins(heap);
    while (first != NULL) {
        struct block *block = first;
        first = link_take(first);
        free_drained(heap, block);
    }
    drain_ends(heap);
    return true;
}
