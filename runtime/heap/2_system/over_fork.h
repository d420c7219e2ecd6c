/* Handlers of fork that are registered late: before another thread may hold a lock at a fork, and before other handlers. */
#pragma once

#include "1_base/cold.h"

#include <stdbool.h>
#include <stddef.h>

struct fork_handlers {
    void (*before)(void), (*in_parent)(void), (*in_child)(void);
};

extern char __libc_single_threaded __attribute__((weak, visibility("default"))); /* the C library's, since glibc 2.32 */
extern bool hs_fork_watched;

/* pthread_atfork(3) for handlers of the object, past our own definition of what that calls. */
int hs_register(const struct fork_handlers *handlers, void *object);
/* From its return on they are registered. It may allocate. */
APART void hs_watch_fork(const struct fork_handlers *handlers);

/* For who is about to take a lock, and holds none: no thread comes while one is held. */
static inline void watch_fork(const struct fork_handlers *handlers)
{
    bool alone = &__libc_single_threaded != NULL && __libc_single_threaded;
    if (__builtin_expect(!alone && !__atomic_load_n(&hs_fork_watched, __ATOMIC_RELAXED), 0))
        hs_watch_fork(handlers);
}
