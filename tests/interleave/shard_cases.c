/* Shards of the store, by thread or by class: a slab changes its shard, gives cross, and fork (runtime/heap/5_slab_policies/shards, locks.c). */
#include "explore.h"

#include "2_system/locks.c"
#include "2_system/numbered_locks.c"

#include "fork.h"
#include "5_slab_policies/remote/local_cache.c"

/* Heap 0 with class 0 takes from shard 0, heap 1 with class 1 from shard 1. */
static struct heap heaps[2];
static struct slab slabs[2];
static struct slab *pool; /* NULL: empty */
static uint64_t handed, pool_data, large_data, of_shard[2], of_cache, of_slab; /* the heap that has slab 0 */

struct heap hs_no_heap;
uintptr_t hs_span;
struct slab *hs_slabs;

static void setup(void)
{
#ifdef BY_THREAD
    heaps[1].rooms.shard = 1;
    slabs[1].shard = 1;
    share("shard of a slab", &slabs[0].shard, sizeof slabs[0].shard);
    share("of another", &slabs[1].shard, sizeof slabs[1].shard);
    share("shard of a heap", &heaps[0].rooms.shard, sizeof heaps[0].rooms.shard);
    share("of another heap", &heaps[1].rooms.shard, sizeof heaps[1].rooms.shard);
#endif
    share("pool lock", &pool_lock, sizeof pool_lock);
    share("large lock", &large_lock, sizeof large_lock);
    share("numbered locks", hs_numbered, sizeof hs_numbered);
    share("of a slab", &of_slab, sizeof of_slab);
    share("pool", &pool, sizeof pool);
    share("handed", &handed, sizeof handed);
    share("pool data", &pool_data, sizeof pool_data);
    share("large data", &large_data, sizeof large_data);
    share("of shards", of_shard, sizeof of_shard);
    share("of a transfer cache", &of_cache, sizeof of_cache);
}

/* A heap acquires slab 0 for the class of its number, under its store's lock; is it there? */
static void acquire(unsigned number, bool is_new)
{
    remote_lock_store(&heaps[number], number);
    remote_lock_pool();
    if (is_new || pool != NULL) {
        remote_own(&slabs[0], &heaps[number]);
        of_slab = number;
        pool = NULL;
    }
    remote_unlock_pool();
    of_shard[number]++;
    remote_unlock_store(&heaps[number], number);
}

/* A block of the slab of this class comes back. */
static void give(struct slab *slab, unsigned class, bool empties)
{
    unsigned held = remote_give_begin(class);
    remote_give_to(&heaps[1], slab, class, &held);
    expect(held == class, "a give holds another shard's lock");
    of_shard[held]++;
    if (empties) {
        remote_lock_pool();
        remote_own(slab, NULL);
        pool = slab;
        remote_unlock_pool();
    }
    remote_give_end(held);
}

/* Thread 0 has the slab in shard 0 and hands a block on, thread 1 gives it back and so empties the slab, thread 2 takes it into
 * shard 1. */
static void change_shard(int thread)
{
    if (thread == 0) {
        acquire(0, true);
        __atomic_store_n(&handed, 1, __ATOMIC_RELEASE);
    } else if (thread == 1 && __atomic_load_n(&handed, __ATOMIC_ACQUIRE) == 1) {
        expect(of_slab == 0, "the slab changed under a block");
        give(&slabs[0], 0, true);
    } else if (thread == 2) {
        acquire(1, false);
    }
}

static uint64_t shard_at_end(void)
{
    return (uint64_t)(pool != NULL) << 4 | of_slab;
}

/* Blocks of both shards, in two orders: in one give by thread, in two by class. */
static void give_across(int thread)
{
#ifdef BY_THREAD
    unsigned held = remote_give_begin(0);
    for (int turn = 0; turn < 2; turn++) {
        remote_give_to(&heaps[1], &slabs[(thread + turn) % 2], 0, &held);
        of_shard[held]++;
    }
    remote_give_end(held);
#else
    for (int turn = 0; turn < 2; turn++)
        give(&slabs[(thread + turn) % 2], (unsigned)(thread + turn) % 2, false);
#endif
}

static uint64_t given(void)
{
    for (int lock = 0; lock < NUMBERED_LOCKS; lock++)
        expect(hs_numbered[lock].lock.word == 0, "a shard's lock is left taken");
    expect(pool_lock.word == 0 && large_lock.word == 0, "a lock is left taken");
    return of_shard[0] << 4 | of_shard[1];
}

/* A flush that empties the transfer cache and a slab, with all three locks. */
static void use_all(void)
{
    shard_lock_transfer(1);
    of_cache++;
    give(&slabs[1], 1, true);
    shard_unlock_transfer(1);
}

static void fork_one(int thread)
{
    if (thread == 0)
        fork_once(false);
    else
        use_all();
}

static void fork_both(int thread)
{
    fork_once(false);
    if (thread == 0)
        use_all();
}

static void fork_to_child(int thread)
{
    if (thread == 0) {
        fork_once(true);
        use_all();
    } else {
        use_all();
    }
}

/* A signal handler forks while its thread holds a store's lock. */
static void in_handler(bool as_child)
{
    shard_lock(1);
    fork_once(as_child);
    expect(lock_mine(&hs_numbered[SHARDS + 1].lock), "fork released a lock that it did not take");
    shard_unlock(1);
}

static void handler(int thread)
{
    if (thread == 0)
        in_handler(false);
    else
        fork_once(false);
}

/* The child has the data as they are: it may only not hang. */
static void take_all(void)
{
    for (unsigned shard = 0; shard < SHARDS; shard++) {
        shard_lock_transfer(shard);
        shard_lock(1 - shard);
        shard_unlock(1 - shard);
        shard_unlock_transfer(shard);
    }
}

static void child_of_handler(int thread)
{
    if (thread == 0)
        in_handler(true);
    take_all();
}

static const struct explored all[] = {
    { "change", 3, 0, setup, change_shard, 0, shard_at_end },
    { "across", 2, 0, setup, give_across, 0, given },
    { "fork_one", 2, 0, setup, fork_one, 0, given },
    { "fork_both", 2, 0, setup, fork_both, 0, given },
    { "fork_to_child", 2, 0, setup, fork_to_child, 0, given },
    { "handler", 2, 0, setup, handler, 0, given },
    { "child_of_handler", 2, 0, setup, child_of_handler, 0, given },
    { 0 },
};
const struct explored *const cases = all;
