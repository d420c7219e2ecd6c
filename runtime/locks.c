/* The pool lock, the large lock and those of shards, which a thread that forks holds over the fork. */
#include "locks.h"

#include "lock.h"

#include <pthread.h>
#include <sched.h>

static struct lock pool_lock, large_lock;
static __thread bool forking; /* this thread is inside fork() and holds all */

void hs_lock_pool(void)
{
    if (!forking)
        lock_acquire(&pool_lock);
}

void hs_unlock_pool(void)
{
    if (!forking)
        lock_release(&pool_lock);
}

bool hs_holds_pool(void)
{
    return forking || lock_mine(&pool_lock);
}

void hs_lock_large(void)
{
    if (!forking)
        lock_acquire(&large_lock);
}

void hs_unlock_large(void)
{
    if (!forking)
        lock_release(&large_lock);
}

#ifdef SHARDS
/* No two on a line. */
static struct {
    _Alignas(64) struct lock lock;
} shard_locks[SHARD_LOCKS];

void hs_lock_shard(unsigned lock)
{
    if (!forking)
        lock_acquire(&shard_locks[lock].lock);
}

void hs_unlock_shard(unsigned lock)
{
    if (!forking)
        lock_release(&shard_locks[lock].lock);
}

bool hs_holds_shard(unsigned lock)
{
    return forking || lock_mine(&shard_locks[lock].lock);
}
#endif

/* fork: the thread that forks holds both locks, so that the child finds a whole heap; other libraries' handlers may run
 * between ours and allocate meanwhile (forking).
 *
 * A signal handler may fork in the middle of malloc: what its thread holds stays its own. It must not wait for the other
 * lock for ever then, for another thread may be in the same case with the locks exchanged: after PATIENCE tries it forks
 * without. The child of a threaded process may not go on in malloc then anyway (POSIX, fork); it must not hang, though. */
enum { POOL = 1, LARGE = 2, BOTH = POOL | LARGE, PATIENCE = 1000 };
static __thread uint8_t held_before; /* by the code that the signal interrupted */
static __thread uint8_t locks_taken;

#ifdef SHARDS
static __thread uint64_t shards_held; /* before, as above; a bit each */
static __thread uint64_t shards_taken;

static void look_at_shards(void)
{
    shards_held = shards_taken = 0;
    for (unsigned lock = 0; lock < SHARD_LOCKS; lock++)
        if (lock_mine(&shard_locks[lock].lock))
            shards_held |= (uint64_t)1 << lock;
}

/* Before the others, in the order of their numbers, as code takes them that takes two. So whoever holds none waits for each:
 * who has it takes none before it, or is in a signal handler and gives up. */
static void take_shards(bool patient)
{
    int tries = 0;
    for (unsigned lock = 0; lock < SHARD_LOCKS; lock++) {
        struct lock *one = &shard_locks[lock].lock;
        bool taken = false;
        if (shards_held >> lock & 1)
            continue;
        if (patient) {
            lock_acquire(one);
            taken = true;
        }
        while (!taken && tries < PATIENCE) {
            taken = lock_try(one);
            if (!taken) {
                sched_yield();
                tries++;
            }
        }
        shards_taken |= (uint64_t)taken << lock;
    }
}

static void release_shards(void)
{
    for (unsigned lock = 0; lock < SHARD_LOCKS; lock++)
        if (shards_taken >> lock & 1)
            lock_release(&shard_locks[lock].lock);
}

static void forget_shards(void)
{
    for (unsigned lock = 0; lock < SHARD_LOCKS; lock++)
        if (!((shards_held | shards_taken) >> lock & 1))
            lock_forget(&shard_locks[lock].lock);
}
#else
enum { shards_held = 0 };

static void look_at_shards(void)
{
}

static void take_shards(bool patient)
{
}

static void release_shards(void)
{
}

static void forget_shards(void)
{
}
#endif

/* Both locks or none, so that nobody waits for the second while holding the first. */
static bool take_both(void)
{
    if (!(held_before & POOL) && lock_try(&pool_lock))
        locks_taken |= POOL;
    if (!(held_before & LARGE) && lock_try(&large_lock))
        locks_taken |= LARGE;
    if ((held_before | locks_taken) == BOTH)
        return true;
    if (locks_taken & LARGE)
        lock_release(&large_lock);
    if (locks_taken & POOL)
        lock_release(&pool_lock);
    locks_taken = 0;
    return false;
}

static void before_fork(void)
{
    held_before = (uint8_t)((lock_mine(&pool_lock) ? POOL : 0) | (lock_mine(&large_lock) ? LARGE : 0));
    locks_taken = 0;
    look_at_shards();
    const bool holds_none = held_before == 0 && shards_held == 0;
    take_shards(holds_none);
    for (int tries = 0; !take_both() && (holds_none || tries < PATIENCE); tries++)
        sched_yield();
    forking = true;
}

static void after_fork(void)
{
    forking = false;
    if (locks_taken & LARGE)
        lock_release(&large_lock);
    if (locks_taken & POOL)
        lock_release(&pool_lock);
    release_shards();
}

static void after_fork_in_child(void)
{
    if (!((held_before | locks_taken) & LARGE))
        lock_forget(&large_lock);
    if (!((held_before | locks_taken) & POOL))
        lock_forget(&pool_lock);
    forget_shards();
    after_fork();
}

void hs_locks_over_fork(void)
{
    pthread_atfork(before_fork, after_fork, after_fork_in_child);
}
