/* A system that makes no threads in its first process, and says so in errno too. Ends a process that asks for a thread as the
 * library must not: with signals, joinable, or on another stack than 256 KiB. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static pid_t first;

__attribute__((constructor)) static void load(void)
{
    first = getpid();
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *with)
{
    int detached;
    size_t stack_bytes;
    sigset_t blocked;
    pthread_attr_getdetachstate(attributes, &detached);
    pthread_attr_getstacksize(attributes, &stack_bytes);
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    if (detached != PTHREAD_CREATE_DETACHED || stack_bytes != 1 << 18)
        abort();
    for (int signal = 1; signal < 32; signal++)
        if (signal != SIGKILL && signal != SIGSTOP && !sigismember(&blocked, signal))
            abort();
    if (getpid() == first)
        return errno = EAGAIN;
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = dlsym(RTLD_NEXT, "pthread_create");
    return create(thread, attributes, start, with);
}
