/* The owner's remote list (runtime/heap/5_slab_policies/remote/owner_*.c; FIFO: the queue), and what a free reads of a slab without a lock. */
#include "explore.h"
#include "4_blocks/classifier/classifier.h"
#include "4_blocks/links.h"
#include "2_system/lock.h"
#include "2_system/locks.h"
#include "5_slab_policies/remote/owner_list.h"
#include "5_slab_policies/remote/remote.h"

#ifndef FIFO
#define FIFO 0
#endif

enum { PUSHES = 2, GRAIN_BYTES = 64, BLOCKS = THREADS * PUSHES };

static struct heap owner, successor;
static struct slab slabs[2];
static _Alignas(64) char space[SLAB_CLASSES_BYTES + 2 * SLAB_BYTES];
static char *const span = space + SLAB_CLASSES_BYTES;
static struct lock pool_lock;
static struct slab *pool; /* an empty slab, under the pool lock */
static uint64_t handed;   /* 1: the program has given the block to another thread; 2: that thread has freed it */
static uint64_t got[BLOCKS + 1], take_of[BLOCKS + 1], got_count, takes; /* blocks drained, in order: the owner's own */

/* What the real sources need of the rest of the runtime. */
uintptr_t hs_span;
size_t hs_span_bytes = sizeof space - SLAB_CLASSES_BYTES;
struct slab *hs_slabs = slabs;
uintptr_t hs_link_key;
struct heap_count hs_count;

static void drained(void *block);

void hs_free_small(void *block)
{
    drained(block);
}

void hs_lock_pool(void)
{
    lock_acquire(&pool_lock);
}

void hs_unlock_pool(void)
{
    lock_release(&pool_lock);
}

#ifdef LOCKED
static struct lock numbered;

void hs_lock_number(unsigned number)
{
    expect(number == 0, "a heap's lock is another's");
    lock_acquire(&numbered);
}

void hs_unlock_number(unsigned number)
{
    (void)number;
    lock_release(&numbered);
}
#endif

void hs_broken(const char *equation)
{
    fail(equation);
}

void hs_misuse(const char *fault, const void *block)
{
    (void)block;
    fail(fault);
}

static void *block_of(uint64_t number)
{
    return span + GRAIN_BYTES * number;
}

static void setup(void)
{
    static char names[BLOCKS][16] = { "block 0", "block 1", "block 2", "block 3", "block 4", "block 5" };
    hs_span = (uintptr_t)span;
    share("remote", &owner.remote, sizeof owner.remote);
#if defined LOCKED || FIFO
    share("remote part", owner.rooms.remote_part, sizeof owner.rooms.remote_part);
#endif
#ifdef LOCKED
    share("numbered lock", &numbered, sizeof numbered);
#endif
    share("counts", &owner.count[0], sizeof owner.count[0]);
    for (int number = 0; number < BLOCKS; number++)
        share(names[number], block_of((uint64_t)number), (1 + FIFO) * sizeof(struct block));
    share("slab owner", &slabs[0].owner, sizeof slabs[0].owner);
    share("slab class", &slabs[0].class, sizeof slabs[0].class);
    share("class byte", slab_row(0), 1);
    share("lock", &pool_lock, sizeof pool_lock);
    share("pool", &pool, sizeof pool);
    share("handed", &handed, sizeof handed);
    share("got", got, sizeof got);
    share("take_of", take_of, sizeof take_of);
    share("got_count", &got_count, sizeof got_count);
    share("takes", &takes, sizeof takes);
    share("span", &hs_span, sizeof hs_span);
    share("slabs", &hs_slabs, sizeof hs_slabs);
    share("span bytes", &hs_span_bytes, sizeof hs_span_bytes);
    share("key", &hs_link_key, sizeof hs_link_key);
}

/* The program writes to its block. A queue's links are atomic, so that none of them can race: the second word can, and a
 * link that is older than the block's free leads nowhere. */
static void use(void *block)
{
    if (FIFO) {
        __atomic_store_n(&((struct block *)block)[0].link, 1, __ATOMIC_RELAXED);
        ((struct block *)block)[1].link = 1;
    }
}

static void note(void *block)
{
    expect(got_count < BLOCKS, "more blocks come than were pushed");
    expect((uintptr_t)block - (uintptr_t)span < BLOCKS * GRAIN_BYTES, "a link leads nowhere");
    got[got_count] = (uint64_t)((char *)block - span) / GRAIN_BYTES;
    take_of[got_count++] = takes;
}

static void drained(void *block)
{
    use(block);
    note(block);
}

static void drain(void)
{
    bool came = remote_drain(&owner);
    takes += came;
}

static void push(int thread, uint64_t pushes)
{
    for (uint64_t number = 0; number < pushes; number++) {
        use(block_of((uint64_t)thread * PUSHES + number));
        remote_free(&owner, 0, block_of((uint64_t)thread * PUSHES + number));
    }
}

/* Thread 0 owns the list. */
static void push_one(int thread)
{
    if (thread > 0)
        push(thread, 1);
    else
        drain();
}

static void drain_twice(int thread)
{
    push(thread, (uint64_t)thread);
    for (int times = 0; thread == 0 && times < 2; times++)
        drain();
}

static void push_two(int thread)
{
    if (thread > 0)
        push(thread, 2);
    else
        for (int times = 0; times < 2; times++)
            drain();
}

/* The owner frees into its own list while others do: nobody does that, but push and take must not care. */
static void push_while_taking(int thread)
{
    push(thread, 1);
    if (thread == 0)
        drain();
}

/* A drain that a push is known to come before brings its block, though it looks at the list with a relaxed load. (From a
 * queue only where no other thread is amid a push.) */
static void push_then_tell(int thread)
{
    const uint64_t pushers = FIFO ? 1 : 2;
    if (thread > 0) {
        push(thread, 1);
        __atomic_fetch_add(&handed, 1, __ATOMIC_RELEASE);
    } else if (__atomic_load_n(&handed, __ATOMIC_ACQUIRE) == pushers) {
        expect(remote_drain(&owner), "a drain after a push finds nothing");
        expect(got_count == pushers, "a drain after the pushes brings fewer blocks");
    }
}

/* Blocks of one pusher: within a take the last pushed comes first, and no take brings one older than an earlier take's. From
 * a queue they come as they were pushed. */
static void check_order(void)
{
    for (uint64_t late = 0; late < got_count; late++)
        for (uint64_t early = 0; early < late; early++)
            if (got[early] / PUSHES == got[late] / PUSHES)
                expect((FIFO || take_of[early] == take_of[late]) == (FIFO != (got[early] > got[late])),
                       "blocks come out of order");
}

/* Of a queue: what the owner has taken and could not free yet. Its words are the chain's ends, the newest node, and the link
 * of the front node. */
static void rest_of_chain(void)
{
#if FIFO
    struct block *last = (struct block *)owner.rooms.remote_part[1];
    for (struct block *block = (struct block *)owner.rooms.remote_part[0]; block != NULL; block = link_next(block)) {
        note(block);
        if (block == last)
            break;
    }
#endif
}

static struct block *newcomers(void)
{
#if FIFO
    return (struct block *)owner.rooms.remote_part[3];
#else
    return owner.remote;
#endif
}

/* What is left on the list counts as one more take. Outcome: how many blocks the owner's drains brought. */
static uint64_t nothing_lost(void)
{
    uint64_t outcome = got_count, seen = 0;
    rest_of_chain();
    for (struct block *block = newcomers(); block != NULL; block = link_next(block))
        note(block);
    check_order();
    for (uint64_t index = 0; index < got_count; index++) {
        expect((seen >> got[index] & 1) == 0, "a block comes twice");
        seen |= UINT64_C(1) << got[index];
    }
    expect(owner.count[0].remote == got_count, "a block is lost, or the counter is wrong");
    expect(owner.count[0].drained == outcome, "drained blocks are miscounted");
    return outcome;
}

/* A slab serves a heap, its block is freed by another thread, the slab empties and serves another heap (slabs.c: acquire,
 * retire). Thread 0 owns it, thread 1 frees the block, thread 2 takes the slab from the pool. */
static void acquire(struct heap *heap, uint16_t class)
{
    slabs[0].class = class;
    remote_own(&slabs[0], heap);
    classifier_set(&slabs[0], 1 + slabs[0].class);
}

static void retire(void)
{
    remote_lock_pool();
    remote_own(&slabs[0], NULL);
    classifier_set(&slabs[0], 0);
    pool = &slabs[0];
    remote_unlock_pool();
}

static void recycle(int thread)
{
    if (thread == 0) {
        remote_lock_pool();
        acquire(&owner, 0);
        remote_unlock_pool();
        __atomic_store_n(&handed, 1, __ATOMIC_RELEASE); /* the program hands the block on */
        if (remote_drain(&owner))
            retire();
    } else if (thread == 1 && __atomic_load_n(&handed, __ATOMIC_ACQUIRE) == 1) {
        expect(classifier_class(block_of(1)) == 0 && slab_of(block_of(1))->owner == &owner, "the slab changed under a block");
        remote_free(slab_of(block_of(1))->owner, 0, block_of(1));
    } else if (thread == 2) {
        remote_lock_pool();
        if (pool != NULL)
            acquire(&successor, 1);
        remote_unlock_pool();
    }
}

static uint64_t owner_at_end(void)
{
    expect(slabs[0].owner != NULL || pool != NULL, "the slab is nowhere");
    return slabs[0].owner == &owner ? 1 : slabs[0].owner == &successor ? 2 : 3;
}

/* One store under the pool lock (local_cache): thread 0 takes a block and hands it on, thread 1 frees it into its own front
 * and flushes it, thread 2 takes the slab for another class when it is empty. */
static void share_store(int thread)
{
    if (thread == 0) {
        hs_lock_pool();
        slabs[0].class = 0;
        classifier_set(&slabs[0], 1 + slabs[0].class);
        hs_unlock_pool();
        __atomic_store_n(&handed, 1, __ATOMIC_RELEASE);
    } else if (thread == 1 && __atomic_load_n(&handed, __ATOMIC_ACQUIRE) == 1) {
        expect(classifier_class(block_of(1)) == 0, "the slab changed under a block");
        hs_lock_pool();
        classifier_set(&slabs[0], 0);
        pool = &slabs[0];
        hs_unlock_pool();
    } else if (thread == 2) {
        hs_lock_pool();
        if (pool != NULL) {
            slabs[0].class = 1;
            classifier_set(&slabs[0], 1 + slabs[0].class);
        }
        hs_unlock_pool();
    }
}

static uint64_t class_at_end(void)
{
    return *slab_row(0);
}

static const struct explored all[] = {
    { "list_1x1", 2, 0, setup, push_one, 0, nothing_lost },
    { "list_2x1", 3, 0, setup, push_one, 0, nothing_lost },
    { "list_twice", 3, 0, setup, drain_twice, 0, nothing_lost },
    { "list_1x2", 2, 0, setup, push_two, 0, nothing_lost },
    { "list_2x2", 3, 0, setup, push_two, 0, nothing_lost },
    { "list_own", 3, 0, setup, push_while_taking, 0, nothing_lost },
    { "list_told", FIFO ? 2 : 3, 0, setup, push_then_tell, 0, nothing_lost },
    { "recycle", 3, 0, setup, recycle, 0, owner_at_end },
    { "share_store", 3, 0, setup, share_store, 0, class_at_end },
    { 0 },
};
const struct explored *const cases = all;
