/* Everything as early as can be: in the first constructors there are, allocations, dlsym that finds and does not find,
 * dlerror, a thread, a fork. And a malloc of its own in front of the library's, found by dlsym at the first call, which
 * counts and passes on, as profilers do (only with -DWRAP=1). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef WRAP
#define WRAP 0
#endif

static void *kept;

static void fail(const char *what)
{
    if (write(STDERR_FILENO, what, strlen(what)) >= 0)
        _exit(1);
}

static void use(size_t bytes)
{
    char *block = calloc(1, bytes);
    if (block == NULL)
        fail("calloc failed\n");
    memset(block, 1, bytes);
    block = realloc(block, 3 * bytes);
    if (block == NULL || block[bytes - 1] != 1)
        fail("realloc failed\n");
    free(block);
}

static void *in_a_thread(void *unused)
{
    use(2000);
    use(200000);
    return unused;
}

__attribute__((constructor(101))) static void first(void)
{
    kept = malloc(3000);
    use(100);
    use(100000);
}

__attribute__((constructor(102))) static void second(void)
{
    void *(*look_up)(size_t) = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "malloc");
    if (look_up == NULL || dlsym(RTLD_DEFAULT, "no_such_function") != NULL || dlerror() == NULL)
        fail("dlsym or dlerror failed\n");
    free(look_up(500));
}

__attribute__((constructor)) static void third(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, in_a_thread, NULL) != 0 || pthread_join(thread, NULL) != 0)
        fail("no thread\n");
    pid_t child = fork();
    if (child == 0) {
        use(1000);
        _exit(0);
    }
    int status = 1;
    if (waitpid(child, &status, 0) != child || status != 0)
        fail("the child failed\n");
    free(kept);
}

__attribute__((destructor)) static void last(void)
{
    use(700);
}

#if WRAP
long shim_mallocs; /* run_plain.c looks at it */

void *malloc(size_t bytes)
{
    static void *(*next)(size_t);
    if (next == NULL)
        next = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    __atomic_fetch_add(&shim_mallocs, 1, __ATOMIC_RELAXED);
    return next(bytes);
}
#endif
