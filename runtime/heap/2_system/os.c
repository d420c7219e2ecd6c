/* Memory from the operating system, by mmap(2), mprotect(2), mremap(2) and madvise(2). */
#define _GNU_SOURCE
#include "2_system/os.h"

#include "1_base/counting/counting.h"

#include PREWARM_SPARING

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { COPIED = 4096, RESERVED = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE };
enum { POPULATE_WRITE = 23, DONTUNMAP = 4 }; /* MADV_POPULATE_WRITE and MREMAP_DONTUNMAP, which older systems' headers lack */

bool os_reserving = true;
bool os_sparing;
__thread bool os_refused;
static char *arena_start, *unplaced, *unplaced_end; /* the arena, and what of it is no range yet */

/* The calls of the system, each with its count. */

static void *counted_mmap(void *start, size_t bytes, int protection, int flags)
{
    count_system(COUNT_MMAP);
    return mmap(start, bytes, protection, flags, -1, 0);
}

static bool counted_munmap(void *start, size_t bytes)
{
    count_system(COUNT_MUNMAP);
    return munmap(start, bytes) == 0;
}

static bool counted_mprotect(void *start, size_t bytes, int protection)
{
    count_system(COUNT_MPROTECT);
    return mprotect(start, bytes, protection) == 0;
}

static bool counted_madvise(void *start, size_t bytes, int advice)
{
    count_system(COUNT_MADVISE);
    return madvise(start, bytes, advice) == 0;
}

static char *round_up(const void *address, size_t step)
{
    return (char *)(((uintptr_t)address + step - 1) & ~(uintptr_t)(step - 1));
}

static void *map_aligned(size_t bytes, size_t alignment, int protection, int flags)
{
    size_t slack = alignment > PAGE_BYTES ? alignment : 0;
    if (bytes + slack < bytes)
        return NULL;
    char *start = counted_mmap(NULL, bytes + slack, protection, flags);
    if (start == MAP_FAILED)
        return NULL;
    if (slack == 0)
        return start;
    char *aligned = round_up(start, alignment);
    if (aligned > start)
        os_unmap(start, (size_t)(aligned - start));
    size_t behind = slack - (size_t)(aligned - start);
    if (behind > 0)
        os_unmap(aligned + bytes, behind);
    return aligned;
}

/* At this address or nowhere. */
static bool map_at(void *start, size_t bytes, int protection, int flags)
{
    void *mapped = counted_mmap(start, bytes, protection, flags | MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE);
    if (mapped != MAP_FAILED && mapped != start) /* Linux before 4.17 takes the address for a wish */
        os_unmap(mapped, bytes);
    return mapped == start;
}

static bool is_finite(int resource)
{
    struct rlimit limit;
    return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

bool os_limited(void)
{
    return is_finite(RLIMIT_AS);
}

/* The system places mappings without an address of their own as high as it can, or upwards from a third of all: the arena
 * lies FAR below the first mapping that we see, where neither comes. Under valgrind, whose mappings lie low, as far above. */
bool os_arena(size_t bytes)
{
    enum { FAR = 1ll << 40, LOW = 1ll << 45, STEP = 1 << 30 };
    page_learn();
    bytes = whole_pages(bytes);
    void *seen = map_aligned(PAGE_BYTES, PAGE_BYTES, PROT_NONE, RESERVED);
    if (seen == NULL)
        return false;
    os_unmap(seen, PAGE_BYTES);
    arena_start = (uintptr_t)seen > LOW ? (char *)seen - FAR - bytes : (char *)seen + FAR;
    arena_start = round_up(arena_start, STEP);
    os_reserving = !os_limited();
    os_sparing = SPARES && (!os_reserving || is_finite(RLIMIT_DATA));
    if (os_reserving && !map_at(arena_start, bytes, PROT_NONE, MAP_NORESERVE)) {
        char *elsewhere = map_aligned(bytes, PAGE_BYTES, PROT_NONE, RESERVED);
        os_reserving = elsewhere != NULL;
        arena_start = os_reserving ? elsewhere : arena_start;
    }
    unplaced = arena_start;
    unplaced_end = arena_start + bytes;
    return true;
}

/* Spans from the bottom, tables from the top: what their alignment leaves over is in one piece between them. */
void *os_range(size_t bytes, size_t alignment)
{
    if (alignment <= PAGE_BYTES)
        return unplaced_end -= whole_pages(bytes);
    char *start = round_up(unplaced, alignment);
    unplaced = start + bytes;
    return start;
}

size_t os_unreserve(void)
{
    struct os_part rest = { unplaced, (size_t)(unplaced_end - unplaced) };
    __atomic_store_n(&os_reserving, false, __ATOMIC_SEQ_CST);
    os_sparing = SPARES;
    return os_unmap_all(&rest, 1);
}

void os_readable(void *start, size_t bytes)
{
    if (os_reserving && bytes > 0)
        counted_mprotect(start, bytes, PROT_READ);
}

/* The pages that are committed with a part. */
static struct os_part pages_of(struct os_part part)
{
    char *first = round_up(part.start, PAGE_BYTES);
    return (struct os_part){ first, (size_t)(round_up((char *)part.start + part.bytes, PAGE_BYTES) - first) };
}

bool os_allow(void *start, size_t bytes)
{
    if (counted_mprotect(start, bytes, PROT_READ | PROT_WRITE))
        return true;
    const bool forbidden = errno == EPERM || errno == EACCES || errno == ENOSYS;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    return forbidden && counted_mmap(start, bytes, PROT_READ | PROT_WRITE, flags) != MAP_FAILED;
}

static bool commit_pages(struct os_part pages)
{
    if (pages.bytes == 0)
        return true;
    return os_reserving ? os_allow(pages.start, pages.bytes)
                        : map_at(pages.start, pages.bytes, PROT_READ | PROT_WRITE, 0);
}

bool os_commit_all(const struct os_part *part, size_t parts)
{
    int saved = errno;
    bool committed = !os_reserving || !os_limited();
    for (size_t left = parts; committed && left > 0; left--) {
        committed = commit_pages(pages_of(part[left - 1]));
        if (!committed && !os_reserving)
            os_unmap_all(part + left, parts - left);
    }
    os_refused = !committed;
    errno = saved;
    return committed;
}

bool os_commit(void *start, size_t bytes)
{
    struct os_part pages = { start, bytes };
    return os_commit_all(&pages, 1);
}

bool os_reserve(void *start, size_t bytes)
{
    int saved = errno;
    bool reserved = counted_mmap(start, bytes, PROT_NONE, RESERVED | MAP_FIXED) != MAP_FAILED;
    errno = saved;
    return reserved;
}

bool os_decommit(void *start, size_t bytes)
{
    if (os_reserving)
        return os_reserve(start, bytes);
    int saved = errno;
    bool unmapped = counted_munmap(start, bytes);
    errno = saved;
    return unmapped;
}

size_t os_unmap_all(const struct os_part *part, size_t parts)
{
    size_t bytes = 0;
    for (size_t index = 0; index < parts; index++) {
        struct os_part pages = pages_of(part[index]);
        if (pages.bytes > 0)
            os_unmap(pages.start, pages.bytes);
        bytes += pages.bytes;
    }
    return bytes;
}

void os_hold(size_t bytes)
{
    map_at(arena_start - bytes, bytes, PROT_NONE, MAP_NORESERVE);
}

void *os_map(size_t bytes, size_t alignment)
{
    void *start = map_aligned(whole_pages(bytes), alignment, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
    os_refused = start == NULL;
    return start;
}

/* Not by getrandom(3), which is a point of thread cancellation. */
uintptr_t os_random(void)
{
    uintptr_t word;
    int saved = errno;
    if (syscall(SYS_getrandom, &word, sizeof word, GRND_NONBLOCK) != sizeof word)
        memcpy(&word, (const void *)getauxval(AT_RANDOM), sizeof word);
    errno = saved;
    return word;
}

void os_huge_pages(void *start, size_t bytes, bool wanted)
{
    int saved = errno;
    counted_madvise(start, bytes, wanted ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    errno = saved;
}

void *os_remap(void *start, size_t old_bytes, size_t new_bytes)
{
    count_system(COUNT_MREMAP);
    void *moved = mremap(start, old_bytes, new_bytes, MREMAP_MAYMOVE);
    return moved == MAP_FAILED ? NULL : moved;
}

static bool holds_zeros(const char *start, size_t bytes)
{
    return *start == 0 && memcmp(start, start + 1, bytes - 1) == 0;
}

void os_copy(void *to, const void *from, size_t bytes)
{
    char *end = (char *)to + bytes;
    for (size_t part; to != end; to = (char *)to + part, from = (const char *)from + part) {
        part = COPIED - (uintptr_t)to % COPIED;
        part = part < (size_t)(end - (char *)to) ? part : (size_t)(end - (char *)to);
        if (!holds_zeros(from, part) || !holds_zeros(to, part))
            memcpy(to, from, part);
    }
}

/* Linux before 5.7 moves no pages without what they were mapped to. What is locked in memory cannot be given back. */
void *os_move(void *start, size_t bytes)
{
    count_system(COUNT_MREMAP);
    void *moved = mremap(start, bytes, bytes, MREMAP_MAYMOVE | DONTUNMAP, NULL); /* anywhere */
    if (moved != MAP_FAILED)
        return moved;
    moved = os_map(bytes, PAGE_BYTES);
    if (moved == NULL)
        return NULL;
    os_copy(moved, start, bytes);
    if (!os_release(start, bytes, false))
        memset(start, 0, bytes);
    return moved;
}

void os_unmap(void *start, size_t bytes)
{
    int saved = errno;
    bytes = whole_pages(bytes);
    if (!counted_munmap(start, bytes)) /* too many mappings: the address space is lost, the memory is not */
        counted_madvise(start, bytes, MADV_DONTNEED);
    errno = saved;
}

/* By /proc/self/pagemap: the page is present, and mapped by nobody else, as the page of zeros is that a read maps; mincore(2)
 * tells no such difference. System calls directly: the C library's functions are points of thread cancellation. */
unsigned os_written(const void *const *page, unsigned pages)
{
    enum { EXCLUSIVE = 56, PRESENT = 63 };
    int saved = errno;
    int file = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    unsigned written = 0;
    for (unsigned index = 0; file >= 0 && index < pages; index++) {
        uint64_t entry;
        uintptr_t at = (uintptr_t)page[index] / PAGE_BYTES * sizeof entry;
        if (syscall(SYS_pread64, file, &entry, sizeof entry, at) == sizeof entry)
            written += entry >> EXCLUSIVE & entry >> PRESENT & 1;
    }
    if (file >= 0)
        syscall(SYS_close, file);
    errno = saved;
    return written;
}

/* By MADV_POPULATE_WRITE of Linux 5.14, or with a store per page before that, which changes nothing. */
void os_populate(void *start, size_t bytes)
{
    int saved = errno;
    bytes = whole_pages(bytes);
    if (!counted_madvise(start, bytes, POPULATE_WRITE) && errno == EINVAL)
        for (size_t page = 0; page < bytes; page += PAGE_BYTES)
            __atomic_fetch_or((char *)start + page, 0, __ATOMIC_RELAXED);
    errno = saved;
}

bool os_release(void *start, size_t bytes, bool lazily)
{
    int saved = errno;
    bool released = counted_madvise(start, bytes, lazily ? MADV_FREE : MADV_DONTNEED);
    errno = saved;
    return released;
}
