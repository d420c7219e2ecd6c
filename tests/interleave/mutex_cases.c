/* fork amid pushes on a remote list under a lock (runtime/heap/5_slab_policies/remote/owner_mutex.c, locks.c). */
#include "explore.h"

#include "2_system/locks.c"
#include "2_system/numbered_locks.c"

#include "fork.h"

#include "5_slab_policies/remote/owner_mutex.c"

enum { BLOCKS = 3, GRAIN_BYTES = 64 };

static struct heap owner;
static _Alignas(64) char space[BLOCKS * GRAIN_BYTES];
static struct slab slab;
static uint64_t drained;

uintptr_t hs_span;
struct slab *hs_slabs = &slab;
uintptr_t hs_link_key;
struct heap_count hs_count;

void hs_free_small(void *block)
{
    (void)block;
    drained++;
}

static void *block_of(int number)
{
    return space + GRAIN_BYTES * number;
}

static void setup(void)
{
    hs_span = (uintptr_t)space;
    share("pool lock", &pool_lock, sizeof pool_lock);
    share("large lock", &large_lock, sizeof large_lock);
    share("numbered lock", hs_numbered, sizeof hs_numbered);
    share("remote", &owner.remote, sizeof owner.remote);
    share("remote part", owner.rooms.remote_part, sizeof owner.rooms.remote_part);
    share("counts", &owner.count[0], sizeof owner.count[0]);
    for (int number = 0; number < BLOCKS; number++)
        share("block", block_of(number), sizeof(struct block));
    share("drained", &drained, sizeof drained);
    share("slab class", &slab.class, sizeof slab.class);
    share("slabs", &hs_slabs, sizeof hs_slabs);
    share("span", &hs_span, sizeof hs_span);
    share("key", &hs_link_key, sizeof hs_link_key);
}

/* Between the handlers another library's handlers free a block of another heap, and a block of the thread's own is taken. */
static void fork_here(bool as_child)
{
    before_fork();
    if (as_child)
        go_alone();
    remote_free(&owner, 0, block_of(0));
    remote_drain(&owner);
    if (as_child)
        after_fork_in_child();
    else
        after_fork();
    remote_drain(&owner);
}

static void fork_in_parent(int thread)
{
    if (thread == 0)
        fork_here(false);
    else
        remote_free(&owner, 0, block_of(thread));
}

static void fork_to_child(int thread)
{
    if (thread == 0)
        fork_here(true);
    else
        remote_free(&owner, 0, block_of(thread));
}

/* A signal's handler forks amid the thread's push, and amid another's. */
static void in_handler(bool as_child)
{
    hs_lock_number(0);
    fork_once(as_child);
    expect(lock_mine(&hs_numbered[0].lock), "fork released a lock that it did not take");
    hs_unlock_number(0);
}

static void handler(int thread)
{
    if (thread == 0)
        in_handler(false);
    else
        fork_in_parent(thread - 1);
}

static uint64_t list_whole(void)
{
    uint64_t waiting = 0;
    for (struct block *block = owner.remote; block != NULL; block = link_next(block))
        expect(++waiting <= BLOCKS, "the list is a circle");
    expect(hs_numbered[0].lock.word == 0 && pool_lock.word == 0 && large_lock.word == 0, "a lock is left taken");
    return drained << 4 | waiting;
}

static const struct explored all[] = {
    { "mutex_fork", 2, 0, setup, fork_in_parent, 0, list_whole },
    { "mutex_child", 2, 0, setup, fork_to_child, 0, list_whole },
    { "mutex_handler", 2, 0, setup, handler, 0, list_whole },
    { 0 },
};
const struct explored *const cases = all;
