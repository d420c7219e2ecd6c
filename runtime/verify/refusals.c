/* mmap, mprotect and mremap as the library under test finds them, before the C library's: they remember a refusal.
 * After one the library may do something else than the model, and is not to blame. */
#define _GNU_SOURCE
#include "driver.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

size_t refused_bytes;

static long watched(long result, size_t bytes)
{
    size_t none = 0;
    if (result == -1 && errno == ENOMEM)
        __atomic_compare_exchange_n(&refused_bytes, &none, bytes, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return result;
}

void *mmap(void *start, size_t bytes, int protection, int flags, int file, off_t offset)
{
    return (void *)watched(syscall(SYS_mmap, start, bytes, protection, flags, file, offset), bytes);
}

int mprotect(void *start, size_t bytes, int protection)
{
    return (int)watched(syscall(SYS_mprotect, start, bytes, protection), bytes);
}

void *mremap(void *start, size_t old_bytes, size_t new_bytes, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    void *target = (flags & MREMAP_FIXED) != 0 ? va_arg(more, void *) : NULL;
    va_end(more);
    return (void *)watched(syscall(SYS_mremap, start, old_bytes, new_bytes, flags, target), new_bytes);
}
