/* A lock that knows its owner: two instructions when nobody contends, futex(2) when somebody does.
 *
 * Protocol. The word is 0 (free), T (held by thread T), or T | LOCK_WAITERS (held by T, and a thread may sleep on it).
 * - Take: compare-and-swap 0 -> T, acquire: what the last holder did is seen. Owner and lock change in one instruction, so
 *   a signal handler at any point of the taker's code reads from the word for certain whether its own thread holds it.
 * - Wait: set LOCK_WAITERS on the holder's word (compare-and-swap, relaxed: nothing is read under it), then futex-wait on
 *   the low half for exactly that value. The kernel compares and queues in one step and the bit is in the low half, so a
 *   thread sleeps only while the bit is set. Whoever has been to sleep takes 0 -> T | LOCK_WAITERS: others may sleep still.
 * - Release: exchange with 0, release: what was done under the lock is published. One exchange, so the bit cannot be set
 *   between a look at it and the store. If it was set, futex-wake one. No wake is lost: a sleeper is there only if the bit
 *   is set, or a releaser that took the bit away is about to wake one, or the one it woke is about to put the bit back.
 *   That one may be in a signal's handler, though, which waits for another sleeper: fork(2) does, for the locks that the
 *   sleeper holds. So a sleep ends by itself too, after a hundredth of a second.
 * - Mine: relaxed. Only T's own thread writes and removes T, and a thread always sees its own last write.
 *
 * T is the thread pointer: not 0, even, of one living thread at a time, and the same in the child of fork. A lock held over
 * fork is therefore the child's, and the child releases it; its waiters stayed with the parent and the wake finds nobody.
 *
 * No thread ends while it holds a lock, so no T is a dead thread's: code under a lock returns, calls no function of the
 * program and no cancellation point. Asynchronous cancellation, siglongjmp or pthread_exit out of a signal handler in the
 * middle of malloc are not allowed by POSIX (malloc is neither async-cancel-safe nor async-signal-safe).
 *
 * Not recursive, not fair. errno is left alone. A lock lives for ever: the wake may touch it when the next holder is done. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "1_base/check.h"
#include "1_base/counting/counting.h"

/* All zero: free. */
struct lock {
    uintptr_t word;
};

#define LOCK_WAITERS ((uintptr_t)1)

/* lock.c: the slow halves. */
void hs_lock_wait(struct lock *lock); /* takes it, by waiting */
void hs_lock_wake(struct lock *lock); /* after a release that found LOCK_WAITERS */

static inline uintptr_t lock_self(void)
{
    return (uintptr_t)__builtin_thread_pointer();
}

/* Takes the lock if nobody holds it; false also when the caller does. */
static inline bool lock_try(struct lock *lock)
{
    uintptr_t word = 0;
    return __atomic_compare_exchange_n(&lock->word, &word, lock_self(), false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static inline void lock_acquire(struct lock *lock)
{
    count_system(COUNT_LOCK);
    count_lock();
    if (__builtin_expect(!lock_try(lock), 0))
        hs_lock_wait(lock);
}

/* Does the calling thread hold it? Certain at every instruction, in signal handlers too. */
static inline bool lock_mine(const struct lock *lock)
{
    return (__atomic_load_n(&lock->word, __ATOMIC_RELAXED) & ~LOCK_WAITERS) == lock_self();
}

static inline void lock_release(struct lock *lock)
{
    if (HEAPSMITH_CHECKED)
        check(lock_mine(lock), "who releases a lock holds it");
    uintptr_t word = __atomic_exchange_n(&lock->word, 0, __ATOMIC_RELEASE);
    if (__builtin_expect((word & LOCK_WAITERS) != 0, 0))
        hs_lock_wake(lock);
}

/* In the child of fork: the holder stayed with the parent. */
static inline void lock_forget(struct lock *lock)
{
    __atomic_store_n(&lock->word, 0, __ATOMIC_RELEASE);
}
