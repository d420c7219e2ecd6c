/* In place of the runtime's: nothing is registered, for the cases call the handlers. */
#pragma once

struct fork_handlers {
    void (*before)(void), (*in_parent)(void), (*in_child)(void);
};

void hs_watch_fork(const struct fork_handlers *handlers);

static inline void watch_fork(const struct fork_handlers *handlers)
{
    (void)handlers;
}
