/* Remote free "owner's mutex": each heap has a store; others push blocks on the owner's list under its lock.
 *
 * Protocol: heap->remote is a LIFO, written under one of the numbered locks alone; heap->rooms.remote_part says which. The owner
 * looks at the head without the lock (relaxed): a stale NULL delays blocks to the next drain. Fork holds these locks, but for
 * a fork in a signal's handler that cannot get one: a push writes the link before it stores the head with release, so that
 * such a child, too, finds a list that is whole. */
#include "5_slab_policies/remote/owner_mutex.h"

#include "4_blocks/links.h"
#include "5_slab_policies/remote/owned.h"
#include "5_slab_policies/remote/remote.h"
#include "2_system/numbered_locks.h"

static unsigned lock_of(const struct heap *heap)
{
    return REMOTE_FIRST_LOCK + (unsigned)heap->rooms.remote_part[0];
}

void remote_free(struct heap *owner, unsigned class, void *block)
{
    check(owner != NULL, "a freed block lies in a slab in use");
    struct block *first = block;
    count_shared(&owner->count[class].remote, 1);
    hs_lock_number(lock_of(owner));
    count_locks(LOCKS_REMOTE_PUT);
    link_set(first, __atomic_load_n(&owner->remote, __ATOMIC_RELAXED));
    __atomic_store_n(&owner->remote, first, __ATOMIC_RELEASE);
    hs_unlock_number(lock_of(owner));
}

bool remote_drain(struct heap *heap)
{
    if (__atomic_load_n(&heap->remote, __ATOMIC_RELAXED) == NULL)
        return false;
    hs_lock_number(lock_of(heap));
    count_locks(LOCKS_REMOTE_DRAIN);
    struct block *first = __atomic_load_n(&heap->remote, __ATOMIC_RELAXED);
    __atomic_store_n(&heap->remote, NULL, __ATOMIC_RELAXED);
    hs_unlock_number(lock_of(heap));
    drain_begins(heap);
    while (first != NULL) {
        struct block *block = first;
        first = link_take(first);
        free_drained(heap, block);
    }
    drain_ends(heap);
    return true;
}
