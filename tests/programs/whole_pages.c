/* Preloaded: ends the program where it maps, protects or gives back what is no whole number of the system's pages. An emulator
 * that only says that pages are longer would let it pass. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static void require(const char *call, uintptr_t start, size_t bytes)
{
    size_t page = getauxval(AT_PAGESZ);
    char line[128];
    if (start % page == 0 && bytes % page == 0)
        return;
    int length = snprintf(line, sizeof line, "%s of %#zx bytes at %#zx: no whole pages of %#zx bytes\n", call, bytes,
                          (size_t)start, page);
    if (write(STDERR_FILENO, line, (size_t)length) < 0)
        _exit(1);
    abort();
}

void *mmap(void *start, size_t bytes, int protection, int flags, int file, off_t offset)
{
    require("mmap", (uintptr_t)start | (uintptr_t)offset, file < 0 ? bytes : 0); /* the end of a file is none of a page */
    return (void *)syscall(SYS_mmap, start, bytes, protection, flags, file, offset);
}

int munmap(void *start, size_t bytes)
{
    require("munmap", (uintptr_t)start, bytes);
    return (int)syscall(SYS_munmap, start, bytes);
}

int mprotect(void *start, size_t bytes, int protection)
{
    require("mprotect", (uintptr_t)start, bytes);
    return (int)syscall(SYS_mprotect, start, bytes, protection);
}

int madvise(void *start, size_t bytes, int advice)
{
    require("madvise", (uintptr_t)start, bytes);
    return (int)syscall(SYS_madvise, start, bytes, advice);
}

void *mremap(void *start, size_t old_bytes, size_t bytes, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    void *to = flags & MREMAP_FIXED ? va_arg(rest, void *) : NULL;
    va_end(rest);
    require("mremap", (uintptr_t)start | (uintptr_t)to, old_bytes | bytes);
    return (void *)syscall(SYS_mremap, start, old_bytes, bytes, flags, to);
}
