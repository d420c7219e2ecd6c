/* Contents: the first 64 bytes, a sprinkle at growing distances, and the last 8 of what was asked for and of what may
 * be used. A byte depends on the block's seed and its offset alone, so that what realloc keeps can be told. */
#define _GNU_SOURCE
#include "piece.h"

#include "intervals.h"
#include "tested.h"

#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    DENSE = 64,
    EDGE = 8,
    ALL_ZERO = 1 << 16, /* up to here all of a calloc is looked at, above that a byte in ZERO_STEP */
    ZERO_STEP = 1021,
    UNTOUCHED = 77, /* errno: no function of the family may change it and succeed */
};

__thread struct where where;
size_t least_alignment = 16;

void fail(const char *format, ...)
{
    char line[512];
    int used = snprintf(line, sizeof line, "stress: seed %ju, thread %u, operation %ju: ", (uintmax_t)where.seed,
                        where.thread, (uintmax_t)where.operation);
    va_list values;
    va_start(values, format);
    used += vsnprintf(line + used, sizeof line - (size_t)used - 1, format, values);
    va_end(values);
    line[used++] = '\n';
    if (write(STDERR_FILENO, line, (size_t)used) < 0)
        _exit(2);
    _exit(1);
}

static unsigned char content(uint64_t seed, size_t offset)
{
    return (unsigned char)((seed + offset) * UINT64_C(0x9E3779B97F4A7C15) >> 56);
}

static size_t after(size_t offset)
{
    return offset < DENSE ? offset + 1 : offset + offset / 2;
}

static size_t edge(size_t end)
{
    return end < EDGE ? 0 : end - EDGE;
}

static void write_range(struct piece *piece, size_t begin, size_t end)
{
    for (size_t offset = begin; offset < end; offset++)
        piece->start[offset] = content(piece->seed, offset);
}

static void write_contents(struct piece *piece)
{
    for (size_t offset = 0; offset < piece->usable; offset = after(offset))
        piece->start[offset] = content(piece->seed, offset);
    write_range(piece, edge(piece->bytes), piece->bytes);
    write_range(piece, edge(piece->usable), piece->usable);
}

static void check_byte(const struct piece *piece, size_t offset, const char *when)
{
    if (piece->start[offset] != content(piece->seed, offset))
        fail("%s: block %p of %zu bytes (%zu usable): byte %zu is %#x, was %#x", when, (void *)piece->start,
             piece->bytes, piece->usable, offset, piece->start[offset], content(piece->seed, offset));
}

/* All that was written below `kept`. */
static void check_contents(const struct piece *piece, size_t kept, const char *when)
{
    for (size_t offset = 0; offset < kept; offset = after(offset))
        check_byte(piece, offset, when);
    for (size_t offset = edge(piece->bytes); offset < piece->bytes && offset < kept; offset++)
        check_byte(piece, offset, when);
    for (size_t offset = edge(piece->usable); offset < piece->usable && offset < kept; offset++)
        check_byte(piece, offset, when);
}

static void check_zero(const unsigned char *start, size_t bytes)
{
    size_t step = bytes <= ALL_ZERO ? 1 : ZERO_STEP;
    for (size_t offset = 0; offset < bytes; offset += step)
        if (start[offset] != 0)
            fail("calloc: block %p of %zu bytes: byte %zu is %#x", (void *)start, bytes, offset, start[offset]);
}

static void check_errno(const char *what)
{
    if (errno != UNTOUCHED)
        fail("%s changed errno to %d", what, errno);
}

/* Takes the block into the set of intervals and gives it its contents. */
static void settle(struct piece *piece, const char *by)
{
    size_t alignment = piece->alignment != 0 ? piece->alignment : piece->bytes < 16 ? 8 : least_alignment;
    piece->usable = tested.malloc_usable_size(piece->start);
    check_errno(by);
    if ((uintptr_t)piece->start % alignment != 0)
        fail("%s: block %p of %zu bytes is not aligned to %zu", by, (void *)piece->start, piece->bytes, alignment);
    if (piece->usable < piece->bytes)
        fail("%s: block %p of %zu bytes has %zu usable", by, (void *)piece->start, piece->bytes, piece->usable);
    uintptr_t taken = claim(piece->start, piece->usable);
    if (taken != 0)
        fail("%s: block %p of %zu bytes (%zu usable) overlaps a live block at %p", by, (void *)piece->start,
             piece->bytes, piece->usable, (void *)taken);
    write_contents(piece);
}

static void forget(const struct piece *piece)
{
    uintptr_t missing = disclaim(piece->start, piece->usable);
    if (missing != 0)
        fail("block %p of %zu bytes: address %p is dead already", (void *)piece->start, piece->bytes, (void *)missing);
}

static void *by_posix_memalign(size_t alignment, size_t bytes)
{
    void *block = NULL;
    int error = tested.posix_memalign(&block, alignment, bytes);
    if (error != 0)
        errno = error;
    return error == 0 ? block : NULL;
}

/* A text of bytes - 1 characters; strdup is asked for small blocks only. */
static void *by_strdup(size_t bytes)
{
    char text[4096];
    memset(text, 'x', bytes - 1);
    text[bytes - 1] = 0;
    char *copy = tested.strdup(text);
    if (copy != NULL && strcmp(copy, text) != 0)
        fail("strdup: block %p of %zu bytes is no copy", (void *)copy, bytes);
    return copy;
}

static void *allocate(enum source source, size_t bytes, size_t alignment)
{
    switch (source) {
    case BY_CALLOC:
        return bytes % 3 == 0 ? tested.calloc(3, bytes / 3) : tested.calloc(1, bytes);
    case BY_REALLOC:
        return tested.realloc(NULL, bytes);
    case BY_REALLOCARRAY:
        return bytes % 2 == 0 ? tested.reallocarray(NULL, bytes / 2, 2) : tested.reallocarray(NULL, 1, bytes);
    case BY_ALIGNED_ALLOC:
        return tested.aligned_alloc(alignment, bytes);
    case BY_POSIX_MEMALIGN:
        return by_posix_memalign(alignment, bytes);
    case BY_STRDUP:
        return by_strdup(bytes);
    default:
        return tested.malloc(bytes);
    }
}

struct piece bear(enum source source, size_t bytes, size_t alignment, uint64_t seed)
{
    static const char *const names[SOURCES] = { "malloc",        "calloc",         "realloc", "reallocarray",
                                                "aligned_alloc", "posix_memalign", "strdup" };
    int aligned = source == BY_ALIGNED_ALLOC || source == BY_POSIX_MEMALIGN;
    if (source == BY_STRDUP)
        bytes = 1 + bytes % 4096;
    errno = UNTOUCHED;
    struct piece piece = { allocate(source, bytes, alignment), bytes, 0, aligned ? alignment : 0, seed, 0 };
    if (piece.start == NULL)
        fail("%s of %zu bytes fails: errno %d", names[source], bytes, errno);
    if (source == BY_CALLOC)
        check_zero(piece.start, bytes);
    settle(&piece, names[source]);
    return piece;
}

int resize(struct piece *piece, size_t bytes, uint64_t seed)
{
    struct piece old = *piece;
    check_contents(&old, old.usable, "before realloc");
    forget(&old);
    errno = UNTOUCHED;
    void *moved = seed % 2 == 0 ? tested.realloc(old.start, bytes) : tested.reallocarray(old.start, 1, bytes);
    if (moved == NULL)
        fail("realloc of %p from %zu to %zu bytes fails: errno %d", (void *)old.start, old.bytes, bytes, errno);
    piece->start = moved;
    check_contents(piece, bytes < old.bytes ? bytes : old.bytes, "after realloc");
    piece->bytes = bytes;
    piece->alignment = 0;
    piece->seed = seed;
    settle(piece, "realloc");
    return moved != old.start;
}

void die(struct piece *piece, uint64_t seed)
{
    check_contents(piece, piece->usable, "at its death");
    forget(piece);
    errno = UNTOUCHED;
    if (seed % 4 == 0 && piece->alignment != 0 && tested.free_aligned_sized != NULL)
        tested.free_aligned_sized(piece->start, piece->alignment, piece->bytes);
    else if (seed % 4 == 0 && piece->alignment == 0 && tested.free_sized != NULL)
        tested.free_sized(piece->start, piece->bytes);
    else
        tested.free(piece->start);
    check_errno("free");
    piece->start = NULL;
}
