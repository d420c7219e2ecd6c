/* Remote free "owner's mutex": each heap has a store; others push blocks on the owner's list under its lock.
 *
 * Protocol: heap->remote is a LIFO, written under the lock in heap->remote_part alone. The owner looks at the head without
 * the lock (relaxed): a stale NULL delays blocks to the next drain. A push writes the link before it stores the head with
 * release, so that the child of a fork amid a push finds a list that is whole: it only forgets the lock. */
#include "remote/owner_mutex.h"

#include "links.h"
#include "lock.h"
#include "remote/owned.h"
#include "remote/remote.h"

static struct lock *lock_of(struct heap *heap)
{
    return (struct lock *)heap->remote_part;
}

void remote_free(struct heap *owner, unsigned class, void *block)
{
    check(owner != NULL, "a freed block lies in a slab in use");
    struct block *first = block;
    count_shared(&owner->count[class].remote, 1);
    lock_acquire(lock_of(owner));
    link_set(first, __atomic_load_n(&owner->remote, __ATOMIC_RELAXED));
    __atomic_store_n(&owner->remote, first, __ATOMIC_RELEASE);
    lock_release(lock_of(owner));
}

bool remote_drain(struct heap *heap)
{
    if (__atomic_load_n(&heap->remote, __ATOMIC_RELAXED) == NULL)
        return false;
    lock_acquire(lock_of(heap));
    struct block *first = __atomic_load_n(&heap->remote, __ATOMIC_RELAXED);
    __atomic_store_n(&heap->remote, NULL, __ATOMIC_RELAXED);
    lock_release(lock_of(heap));
    drain_begins(heap);
    while (first != NULL) {
        struct block *block = first;
        first = link_take(first);
        free_drained(heap, block);
    }
    drain_ends(heap);
    return true;
}

/* The holder stayed with the parent, unless the handler of a signal forked amid this thread's own push. */
void remote_after_fork(struct heap *heap)
{
    if (!lock_mine(lock_of(heap)))
        lock_forget(lock_of(heap));
}
