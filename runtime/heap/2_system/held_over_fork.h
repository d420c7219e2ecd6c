/* Locks that a thread that forks holds over the fork: how each is taken. */
#pragma once

#include "2_system/lock.h"
#include "2_system/over_fork.h"

#include <stdbool.h>

#include "plan.h"

extern __thread uint8_t hs_forking; /* calls of fork() that this thread is in, holding all locks */
extern const struct fork_handlers hs_lock_handlers;

/* No two on a line. */
struct numbered_lock {
    _Alignas(64) struct lock lock;
    bool over_fork; /* its holder took it for a fork */
};
extern struct numbered_lock hs_numbered[NUMBERED_LOCKS];

static inline void take_lock(struct lock *lock)
{
    if (hs_forking)
        return;
    watch_fork(&hs_lock_handlers);
    lock_acquire(lock);
}

static inline void leave_lock(struct lock *lock)
{
    if (!hs_forking)
        lock_release(lock);
}
