/* Calls of the system that fail when told to. Preload it with a library: FAULT=mmap:17 lets the 17th call of mmap fail with
 * ENOMEM, FAULT=mmap:17- that one and all after it; FAULT=count writes how many calls there were to stderr at the end.
 * fault_over() ends the faults and the count. What libc does for itself does not come by here. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum kind { MMAP, MUNMAP, MPROTECT, MADVISE, MREMAP, CREATE, KEY_CREATE, SETSPECIFIC, KINDS };

static const char *const name[KINDS] = {
    "mmap", "munmap", "mprotect", "madvise", "mremap", "pthread_create", "pthread_key_create", "pthread_setspecific",
};
static long calls[KINDS];
static long first[KINDS], last[KINDS]; /* calls that fail, from 1; last 0: none */
static bool read_once, counts, over;

/* Runs before every constructor: the first call of any kind reads the variable. */
static void read_variable(void)
{
    read_once = true;
    const char *fault = getenv("FAULT");
    if (fault == NULL)
        return;
    counts = strcmp(fault, "count") == 0;
    for (int kind = 0; kind < KINDS; kind++) {
        size_t length = strlen(name[kind]);
        if (strncmp(fault, name[kind], length) != 0 || fault[length] != ':')
            continue;
        char *end;
        first[kind] = last[kind] = strtol(fault + length + 1, &end, 10);
        if (*end == '-')
            last[kind] = __LONG_MAX__;
    }
}

static bool fails(enum kind kind)
{
    if (!read_once)
        read_variable();
    if (__atomic_load_n(&over, __ATOMIC_RELAXED))
        return false;
    long call = __atomic_add_fetch(&calls[kind], 1, __ATOMIC_RELAXED);
    return call >= first[kind] && call <= last[kind];
}

void fault_over(void)
{
    __atomic_store_n(&over, true, __ATOMIC_RELAXED);
}

__attribute__((destructor)) static void report(void)
{
    char line[400];
    int length = 0;
    for (int kind = 0; kind < KINDS; kind++)
        length += snprintf(line + length, sizeof line - (size_t)length, "%s %ld\n", name[kind], calls[kind]);
    if (counts && write(STDERR_FILENO, line, (size_t)length) < 0)
        _exit(3);
}

static int refused(void)
{
    errno = ENOMEM;
    return -1;
}

void *mmap(void *start, size_t bytes, int protection, int flags, int file, off_t offset)
{
    if (fails(MMAP)) {
        refused();
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mmap, start, bytes, protection, flags, file, offset);
}

int munmap(void *start, size_t bytes)
{
    return fails(MUNMAP) ? refused() : (int)syscall(SYS_munmap, start, bytes);
}

int mprotect(void *start, size_t bytes, int protection)
{
    return fails(MPROTECT) ? refused() : (int)syscall(SYS_mprotect, start, bytes, protection);
}

int madvise(void *start, size_t bytes, int advice)
{
    return fails(MADVISE) ? refused() : (int)syscall(SYS_madvise, start, bytes, advice);
}

void *mremap(void *start, size_t old_bytes, size_t new_bytes, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    void *target = (flags & MREMAP_FIXED) != 0 ? va_arg(rest, void *) : NULL;
    va_end(rest);
    if (fails(MREMAP)) {
        refused();
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mremap, start, old_bytes, new_bytes, flags, target);
}

/* dlsym allocates nothing while it succeeds. */
static void *real(const char *function)
{
    return dlsym(RTLD_NEXT, function);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*work)(void *), void *with)
{
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = real(name[CREATE]);
    return fails(CREATE) ? EAGAIN : create(thread, attributes, work, with);
}

int pthread_key_create(pthread_key_t *key, void (*destructor)(void *))
{
    int (*create)(pthread_key_t *, void (*)(void *)) = real(name[KEY_CREATE]);
    return fails(KEY_CREATE) ? EAGAIN : create(key, destructor);
}

int pthread_setspecific(pthread_key_t key, const void *value)
{
    int (*set)(pthread_key_t, const void *) = real(name[SETSPECIFIC]);
    return fails(SETSPECIFIC) ? ENOMEM : set(key, value);
}
