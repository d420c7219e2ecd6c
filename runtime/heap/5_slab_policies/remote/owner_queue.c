/* Remote free "owner's queue": each heap has a store; others append blocks to the owner's lock-free queue (FIFO).
 *
 * The queue of Michael and Scott (PODC 1996) for one consumer that takes all, its nodes the blocks themselves. A queue that
 * links with a compare-and-swap at the end that it has read would write into a block that the owner has taken and handed out
 * since: there is no safe time to free such a node. So the end is claimed first, by an exchange, and linked then (D. Vyukov's
 * order): only the one producer that got a node as its predecessor ever writes to that node, and the owner frees no node
 * before its successor is linked.
 *
 * Protocol: `front` is the link of a node in front of all (the front node); `last` the newest node. The exchanges of `last`
 * stand in one row.
 * - Append: the block's link becomes NULL, `last` is exchanged with it, then the predecessor's link is stored. Release: who
 *   takes the chain sees what was done with the block; and the NULL comes before the link that the successor stores. Acquire:
 *   so does the predecessor's NULL before the link that we store.
 * - Take: a front link of NULL means empty. Else it becomes NULL, then `last` is exchanged with the front node. Acquire: see
 *   above, for all blocks of the chain. Release: our NULL comes before the link of whoever gets the front node. What was read
 *   and what was exchanged are the ends of a chain that is the owner's alone.
 * - The links of blocks are stored with release and loaded with acquire: the program may write to a block that was drained
 *   only after its successor's producer has stored the link there. The front link is relaxed, it is in no block.
 * - A node of the chain without a link, but for the newest, has a producer between its two steps. The owner waits for nobody:
 *   it keeps the rest of the chain in `taken` for its next drain, and takes no other before. So blocks come in their order.
 *
 * With DRAIN_MOST a heap has a queue for each class, and a drain leaves the rest of a longer chain in `taken` likewise. A class
 * takes from the store only where its own queue gave nothing, so what waits of it is no more than the program held at once.
 *
 * In the child of a fork amid an append the rest of that chain waits for ever: a leak, and no hang. */
#include "5_slab_policies/remote/owner_queue.h"

#include "1_base/bound.h"
#include "4_blocks/links.h"
#include "5_slab_policies/remote/owned.h"
#include "5_slab_policies/remote/remote.h"

/* Without DRAIN_MOST a drain has no end but the chain's. */
enum { HAS_DRAIN_MOST = DRAIN_MOST > 0, QUEUES = HAS_DRAIN_MOST ? CLASS_COUNT : 1, MOST_DRAINED = HAS_DRAIN_MOST ? DRAIN_MOST : 1 };

struct queue {
    struct block *taken, *taken_last; /* a chain of the owner's, the oldest and the newest; taken is NULL: none */
    struct block *last;               /* NULL: the front node */
    struct block *front;
};

struct queues {
    struct queue of[QUEUES];
    size_t turn[HAS_DRAIN_MOST]; /* the class of which a refill of another drains a part */
};

_Static_assert(sizeof(struct queues) == sizeof((struct heap *)0)->rooms.remote_part, "the queues' words");

static struct queue *queue_of(struct heap *heap, unsigned class)
{
    return &((struct queues *)heap->rooms.remote_part)->of[HAS_DRAIN_MOST ? class : 0];
}

void remote_free(struct heap *owner, unsigned class, void *block)
{
    check(owner != NULL, "a freed block lies in a slab in use");
    struct queue *queue = queue_of(owner, class);
    struct block *newest = block;
    count_shared(&owner->count[class].remote, 1);
    link_store(newest, NULL);
    struct block *before = __atomic_exchange_n(&queue->last, newest, __ATOMIC_ACQ_REL);
    if (before == NULL)
        __atomic_store_n(&queue->front, newest, __ATOMIC_RELAXED);
    else
        link_store(before, newest);
}

/* The oldest block of a chain for the owner, and its newest; NULL if there is none. */
static struct block *take_chain(struct queue *queue, struct block **newest)
{
    struct block *oldest = queue->taken;
    if (oldest != NULL) {
        *newest = queue->taken_last;
        queue->taken = NULL;
        return oldest;
    }
    oldest = __atomic_load_n(&queue->front, __ATOMIC_RELAXED);
    if (oldest != NULL) {
        __atomic_store_n(&queue->front, NULL, __ATOMIC_RELAXED);
        *newest = __atomic_exchange_n(&queue->last, NULL, __ATOMIC_ACQ_REL);
    }
    return oldest;
}

/* Free blocks of a chain: all, or DRAIN_MOST. True if there was a chain. The words of the queue lie on the line that producers
 * exchange. So a drain writes none of them while it frees blocks. */
static bool drain_chain(struct heap *heap, struct queue *queue)
{
    struct block *newest;
    struct block *block = take_chain(queue, &newest);
    uint32_t left = MOST_DRAINED;
    if (block == NULL)
        return false;
    drain_begins(heap);
    ROUNDS(drained);
    for (bool more = true; more;) {
        BOUND(drained, DRAIN_MOST + 1); /* of a bounded design, which has a most */
        more = block != newest;
        struct block *next = more ? link_load(block) : NULL;
        if (left == 0 || (more && next == NULL)) {
            queue->taken = block;
            queue->taken_last = newest;
            break;
        }
        if (ZERO_FREED)
            block->link = 0;
        free_drained(heap, block);
        block = next;
        left -= HAS_DRAIN_MOST;
    }
    drain_ends(heap);
    return true;
}

#include REMOTE_QUEUES
