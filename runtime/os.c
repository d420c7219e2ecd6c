/* Memory from the operating system, by mmap(2), mprotect(2), mremap(2) and madvise(2). */
#define _GNU_SOURCE
#include "os.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>

enum { OS_PAGE = 4096 };

static void *map_aligned(size_t bytes, size_t alignment, int protection, int flags)
{
    size_t slack = alignment > OS_PAGE ? alignment : 0;
    if (bytes + slack < bytes)
        return NULL;
    char *start = mmap(NULL, bytes + slack, protection, flags | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED)
        return NULL;
    if (slack == 0)
        return start;
    char *aligned = (char *)(((uintptr_t)start + alignment - 1) & ~(uintptr_t)(alignment - 1));
    if (aligned > start)
        os_unmap(start, (size_t)(aligned - start));
    size_t behind = slack - (size_t)(aligned - start);
    if (behind > 0)
        os_unmap(aligned + bytes, behind);
    return aligned;
}

void *os_reserve(size_t bytes, size_t alignment)
{
    return map_aligned(bytes, alignment, PROT_NONE, MAP_NORESERVE);
}

void *os_map(size_t bytes, size_t alignment)
{
    return map_aligned(bytes, alignment, PROT_READ | PROT_WRITE, 0);
}

void *os_reserve_zeros(size_t bytes)
{
    return map_aligned(bytes, 1, PROT_READ, MAP_NORESERVE);
}

uintptr_t os_random(void)
{
    uintptr_t word;
    int saved = errno;
    if (getrandom(&word, sizeof word, GRND_NONBLOCK) != sizeof word)
        memcpy(&word, (const void *)getauxval(AT_RANDOM), sizeof word);
    errno = saved;
    return word;
}

size_t os_address_space(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ? SIZE_MAX : limit.rlim_cur;
}

bool os_commit(void *start, size_t bytes)
{
    uintptr_t first = (uintptr_t)start & ~(uintptr_t)(OS_PAGE - 1);
    uintptr_t end = ((uintptr_t)start + bytes + OS_PAGE - 1) & ~(uintptr_t)(OS_PAGE - 1);
    int saved = errno;
    bool committed = mprotect((void *)first, end - first, PROT_READ | PROT_WRITE) == 0;
    errno = saved;
    return committed;
}

bool os_decommit(void *start, size_t bytes)
{
    int saved = errno;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    bool decommitted = mmap(start, bytes, PROT_NONE, flags, -1, 0) != MAP_FAILED;
    errno = saved;
    return decommitted;
}

void os_huge_pages(void *start, size_t bytes, bool wanted)
{
    int saved = errno;
    madvise(start, bytes, wanted ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    errno = saved;
}

void *os_remap(void *start, size_t old_bytes, size_t new_bytes)
{
    void *moved = mremap(start, old_bytes, new_bytes, MREMAP_MAYMOVE);
    return moved == MAP_FAILED ? NULL : moved;
}

void os_unmap(void *start, size_t bytes)
{
    int saved = errno;
    if (munmap(start, bytes) != 0) /* too many mappings: the address space is lost, the memory is not */
        madvise(start, bytes, MADV_DONTNEED);
    errno = saved;
}

bool os_release(void *start, size_t bytes, bool lazily)
{
    int saved = errno;
    bool released = madvise(start, bytes, lazily ? MADV_FREE : MADV_DONTNEED) == 0;
    errno = saved;
    return released;
}
