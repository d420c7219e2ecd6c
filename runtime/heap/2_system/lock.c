/* The slow halves of a lock: spin a little, then sleep; wake one. The protocol is in lock.h. */
#include "2_system/lock.h"

#include "1_base/arch/arch.h"
#include "2_system/futex.h"

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    LOCK_SPINS = 100,  /* pauses before sleeping, at least: half a microsecond where a pause takes 5 ns */
    MOST_BETWEEN = 16, /* of them between two looks: the more threads look, the longer a release takes (Anderson, 1990) */
};

/* The longest sleep: lock.h says what for. A lock is held for microseconds. */
static const struct timespec longest = { .tv_nsec = 10 * 1000 * 1000 };

/* On the low half of the word: the first four bytes, little-endian. */
static void futex(struct lock *lock, int operation, uint32_t value, const struct timespec *most)
{
    int saved = errno;
    count_system(COUNT_FUTEX);
    syscall(SYS_futex, &lock->word, operation, value, most, NULL, 0);
    errno = saved;
}

static bool spin(struct lock *lock)
{
    int between = 1;
    for (int paused = 0; paused < LOCK_SPINS;) {
        if (__atomic_load_n(&lock->word, __ATOMIC_RELAXED) == 0 && lock_try(lock))
            return true;
        for (int pause = 0; pause < between; pause++)
            arch_pause();
        paused += between;
        if (between < MOST_BETWEEN)
            between *= 2;
    }
    return false;
}

/* From here on the thread takes the lock with the bit set, for it cannot know whether it was the only one asleep. */
static bool take_waiting(struct lock *lock)
{
    uintptr_t word = 0;
    return __atomic_compare_exchange_n(&lock->word, &word, lock_self() | LOCK_WAITERS, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

void hs_lock_wait(struct lock *lock)
{
    count_system(COUNT_LOCK_WAIT);
    if (spin(lock))
        return;
    while (!take_waiting(lock)) {
        uintptr_t word = __atomic_load_n(&lock->word, __ATOMIC_RELAXED);
        if (word == 0)
            continue;
        if ((word & LOCK_WAITERS) == 0 && !__atomic_compare_exchange_n(&lock->word, &word, word | LOCK_WAITERS, false,
                                                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            continue;
        futex(lock, FUTEX_WAIT_HERE, (uint32_t)(word | LOCK_WAITERS), &longest);
    }
}

void hs_lock_wake(struct lock *lock)
{
    futex(lock, FUTEX_WAKE_HERE, 1, NULL);
}
