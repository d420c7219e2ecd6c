/* Handlers of signals that go on to what the process had before. */
#pragma once

#include <signal.h>
#include <stdbool.h>

static inline bool handler_is_own(const struct sigaction *of)
{
    return (of->sa_flags & SA_SIGINFO) || (of->sa_handler != SIG_DFL && of->sa_handler != SIG_IGN);
}

/* What a handler goes on to. Handlers in several threads read it at once, so none of them writes to `before`. */
struct handled {
    struct sigaction before;
    bool had_turn; /* with SA_RESETHAND */
};

/* A handler that goes on to `found`, which finds the stack and the mask of signals that it wanted. */
static inline struct sigaction handler_before(const struct sigaction *found, void (*handler)(int, siginfo_t *, void *))
{
    const int wanted = found->sa_flags & (SA_ONSTACK | SA_NODEFER | SA_RESTART);
    const int flags = handler_is_own(found) ? wanted : SA_ONSTACK | SA_RESTART;
    return (struct sigaction){ .sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags, .sa_mask = found->sa_mask };
}

/* Calls the handler that was there before; false: none was. With SA_RESETHAND it has its turn once. */
static inline bool handler_goes_on(struct handled *handled, int number, siginfo_t *signal, void *context)
{
    const struct sigaction *then = &handled->before;
    if (!handler_is_own(then))
        return false;
    if (then->sa_flags & SA_RESETHAND && __atomic_exchange_n(&handled->had_turn, true, __ATOMIC_RELAXED))
        return false;
    if (then->sa_flags & SA_SIGINFO)
        then->sa_sigaction(number, signal, context);
    else
        then->sa_handler(number);
    return true;
}
