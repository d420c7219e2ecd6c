/* Registers handlers of fork: in a process that has one thread and no other handlers, never.
 *
 * - One thread that forks holds its locks in parent and child alike. So handlers must be there only when there are two threads.
 *   pthread_create allocates before it makes one, by calloc, which looks; and so does whoever takes a lock.
 * - Handlers run before fork in the reverse order of their registration. Another library's may wait for a mutex whose holder
 *   waits for our locks. So ours must come first: who registers handlers comes through api.c.
 *
 * This spares small programs the pages of the C library that registering touches: 140 KiB, since the kernel maps 64 KiB around
 * each page of a file that is read. */
#define _GNU_SOURCE
#include "2_system/over_fork.h"

#include "1_base/bound.h"
#include "1_base/definitions.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

bool hs_fork_watched;

int hs_register(const struct fork_handlers *handlers, void *object)
{
#ifdef HEAPSMITH_ARCHIVE /* a program has no second definition of a function */
    return pthread_atfork(handlers->before, handlers->in_parent, handlers->in_child);
#else
    static const char by_object[] = "__register_atfork", plainly[] = "pthread_atfork"; /* texts lie with what few read */
    int (*registers)(void (*)(void), void (*)(void), void (*)(void), void *) = definition_next(by_object).function;
    if (registers != NULL)
        return registers(handlers->before, handlers->in_parent, handlers->in_child, object);
    __typeof(pthread_atfork) *plain = definition_next(plainly).function;
    return plain != NULL ? plain(handlers->before, handlers->in_parent, handlers->in_child) : ENOMEM;
#endif
}

/* Two threads may do so at once: the handlers allow for that. Signals wait, for a handler that forks would wait for a lock of
 * the C library that its own thread holds. */
GATE void hs_watch_fork(const struct fork_handlers *handlers)
{
    static __thread volatile bool registering; /* to the headers the call is a leaf, but it may allocate */
    if (registering || __atomic_load_n(&hs_fork_watched, __ATOMIC_RELAXED))
        return;
    int saved = errno;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    registering = true;
    hs_register(handlers, NULL); /* for ever: nobody unloads this library */
    registering = false;
    __atomic_store_n(&hs_fork_watched, true, __ATOMIC_RELEASE);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved;
}
