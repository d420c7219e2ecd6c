/* glibc's malloc with one promise broken, which the environment variable BROKEN names: the stress program must notice;
 * for "leaks", which frees nothing at all, the soak. */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *block);

enum { OFTEN = 10 };

static int broken(const char *promise)
{
    const char *name = getenv("BROKEN");
    return name != NULL && strcmp(name, promise) == 0;
}

/* Every OFTEN-th time a thread comes to the promise that is to be broken. */
static int breaks(const char *promise)
{
    static __thread unsigned times;
    return broken(promise) && ++times % OFTEN == 0;
}

void *malloc(size_t bytes)
{
    static __thread void *last;
    static __thread size_t last_bytes;
    if (breaks("twice") && bytes <= last_bytes)
        return last;
    last_bytes = bytes;
    return last = breaks("refuses") ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    unsigned char *block = __libc_calloc(count, bytes);
    if (breaks("dirty") && count * bytes > 100)
        block[99] = 1;
    return block;
}

void *realloc(void *block, size_t bytes)
{
    unsigned char *moved = __libc_realloc(block, bytes);
    if (block != NULL && moved != NULL && bytes > 0 && breaks("loses"))
        moved[bytes / 2 < 60 ? bytes / 2 : 60] ^= 1;
    return moved;
}

void *reallocarray(void *block, size_t count, size_t bytes)
{
    return realloc(block, count * bytes);
}

int posix_memalign(void **block, size_t alignment, size_t bytes)
{
    *block = __libc_memalign(breaks("crooked") ? 16 : alignment, bytes);
    return *block == NULL ? ENOMEM : 0;
}

void free(void *block)
{
    if (!broken("leaks"))
        __libc_free(block);
    if (breaks("errno"))
        errno = EINVAL;
}
