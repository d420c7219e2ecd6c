/* The pool lock, the large lock and the numbered locks, which a thread that forks holds over the fork. */
#include "2_system/locks.h"

#include "1_base/cold.h"
#include "2_system/lock.h"
#include "2_system/over_fork.h"
#include "2_system/held_over_fork.h"

#include <sched.h>

static struct lock pool_lock, large_lock;
__thread uint8_t hs_forking; /* calls of fork() that this thread is in, holding all locks: a signal's handler may fork again */

static COLD void before_fork(void), after_fork(void), after_fork_in_child(void);
const struct fork_handlers hs_lock_handlers = { before_fork, after_fork, after_fork_in_child };

void hs_locks_over_fork(void)
{
    hs_watch_fork(&hs_lock_handlers);
}

void hs_expect_thread(void)
{
    watch_fork(&hs_lock_handlers);
}

struct numbered_lock hs_numbered[NUMBERED_LOCKS];

void hs_lock_pool(void)
{
    take_lock(&pool_lock);
}

void hs_unlock_pool(void)
{
    leave_lock(&pool_lock);
}

bool hs_holds_pool(void)
{
    return hs_forking || lock_mine(&pool_lock);
}

void hs_lock_large(void)
{
    take_lock(&large_lock);
}

void hs_unlock_large(void)
{
    leave_lock(&large_lock);
}

/* fork: the thread that forks holds both locks, so that the child finds a whole heap; other libraries' handlers may run
 * between ours and allocate meanwhile (hs_forking).
 *
 * A signal handler may fork in the middle of malloc: what its thread holds stays its own. It must not wait for the other
 * lock for ever then, for another thread may be in the same case with the locks exchanged: after PATIENCE tries it forks
 * without. The child of a threaded process may not go on in malloc then anyway (POSIX, fork); it must not hang, though. */
enum { POOL = 1, LARGE = 2, BOTH = POOL | LARGE, PATIENCE = 1000 };
static __thread uint8_t held_before; /* by the code that the signal interrupted */
static __thread uint8_t locks_taken;

static bool holds_numbered(void)
{
    bool any = false;
    for (unsigned number = 0; number < NUMBERED_LOCKS; number++)
        any |= lock_mine(&hs_numbered[number].lock);
    return any;
}

/* Before the others, in the order of their numbers, as code takes them that takes two. So whoever holds none waits for each:
 * who has it takes none before it, or is in a signal handler and gives up. */
static void take_numbered(bool patient)
{
    int tries = 0;
    for (unsigned number = 0; number < NUMBERED_LOCKS; number++) {
        struct lock *one = &hs_numbered[number].lock;
        if (lock_mine(one))
            continue;
        bool taken = patient;
        if (patient)
            lock_acquire(one);
        while (!taken && tries < PATIENCE) {
            taken = lock_try(one);
            if (!taken) {
                sched_yield();
                tries++;
            }
        }
        if (taken)
            hs_numbered[number].over_fork = true;
    }
}

static void release_numbered(void)
{
    for (unsigned number = 0; number < NUMBERED_LOCKS; number++)
        if (lock_mine(&hs_numbered[number].lock) && hs_numbered[number].over_fork) {
            hs_numbered[number].over_fork = false;
            lock_release(&hs_numbered[number].lock);
        }
}

static void forget_numbered(void)
{
    for (unsigned number = 0; number < NUMBERED_LOCKS; number++)
        if (!lock_mine(&hs_numbered[number].lock)) {
            hs_numbered[number].over_fork = false;
            lock_forget(&hs_numbered[number].lock);
        }
}

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
    if (hs_forking > 0) {
        hs_forking++;
        return;
    }
    held_before = (uint8_t)((lock_mine(&pool_lock) ? POOL : 0) | (lock_mine(&large_lock) ? LARGE : 0));
    locks_taken = 0;
    const bool holds_none = held_before == 0 && !holds_numbered();
    take_numbered(holds_none);
    count_locks(LOCKS_OTHER);
    for (int tries = 0; !take_both() && (holds_none || tries < PATIENCE); tries++)
        sched_yield();
    hs_forking = 1;
}

static void after_fork(void)
{
    if (--hs_forking > 0)
        return;
    if (locks_taken & LARGE)
        lock_release(&large_lock);
    if (locks_taken & POOL)
        lock_release(&pool_lock);
    release_numbered();
}

static void after_fork_in_child(void)
{
    if (!((held_before | locks_taken) & LARGE))
        lock_forget(&large_lock);
    if (!((held_before | locks_taken) & POOL))
        lock_forget(&pool_lock);
    forget_numbered();
    after_fork();
}
