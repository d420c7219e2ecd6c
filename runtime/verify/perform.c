/* One event on the library, with the blocks' contents watched: alignment, usable size, zeros, and a pattern in all of it. */
#include "driver.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* A block of the trace. Its pattern lies at all its usable bytes, or where it is long at the edges of its pages, and at the
 * last EDGE bytes asked for. Each block has its own, so blocks that overlap are seen. */
struct born {
    unsigned char *start; /* NULL: the allocation failed, or the block is dead */
    size_t asked;
    size_t usable;
    unsigned char tag;
};

enum {
    EDGE = 16,
    WHOLE = 1024,          /* up to here all bytes have the pattern */
    PAGES_PAINTED = 8,     /* of a longer block, the first and the last: the others stay untouched */
    ALL_ZERO_BYTES = 4096, /* up to here calloc's bytes are all looked at, above only at the pages' edges */
    PAGE = 4096,
    PAGE_EDGE = 64,
};

static struct born *table;
static size_t table_size;

static struct born *born(uint32_t block)
{
    table = widened(table, &table_size, block, sizeof *table);
    return &table[block];
}

static unsigned char pattern(const struct born *block, size_t offset)
{
    return (unsigned char)(block->tag + 151 * offset);
}

static size_t edge_before(size_t end)
{
    return end > EDGE ? end - EDGE : 0;
}

static void paint(const struct born *block, const unsigned char *start, size_t from, size_t to, const char *when)
{
    (void)start, (void)when;
    for (size_t offset = from; offset < to; offset++)
        block->start[offset] = pattern(block, offset);
}

static void watch(const struct born *block, const unsigned char *start, size_t from, size_t to, const char *when)
{
    for (size_t offset = from; offset < to; offset++)
        if (start[offset] != pattern(block, offset))
            fail("%s: byte %zu of a block of %zu bytes changed from %d to %d", when, offset, block->asked,
                 pattern(block, offset), start[offset]);
}

typedef void part_act(const struct born *block, const unsigned char *start, size_t from, size_t to, const char *when);

/* Each part of the block that has the pattern, as far as `end`; its bytes lie at `start` now. */
static void each_part(part_act *act, const struct born *block, const unsigned char *start, size_t end, const char *when)
{
    if (block->usable <= WHOLE) {
        act(block, start, 0, end, when);
        return;
    }
    const size_t pages = (block->usable + PAGE - 1) / PAGE;
    for (size_t page = 0; page < pages; page++) {
        if (page == PAGES_PAINTED && pages > 2 * PAGES_PAINTED)
            page = pages - PAGES_PAINTED;
        size_t next = (page + 1) * PAGE < end ? (page + 1) * PAGE : end;
        if (page * PAGE >= end)
            break;
        act(block, start, page * PAGE, page * PAGE + PAGE_EDGE < next ? page * PAGE + PAGE_EDGE : next, when);
        if (next == (page + 1) * PAGE || next == block->usable)
            act(block, start, next - page * PAGE > PAGE_EDGE ? next - PAGE_EDGE : page * PAGE, next, when);
    }
    size_t asked = block->asked < end ? block->asked : end;
    if (edge_before(block->asked) < asked)
        act(block, start, edge_before(block->asked), asked, when);
}

static void watch_life(const struct born *block)
{
    each_part(watch, block, block->start, block->usable, "while it lived");
}

/* After a realloc: the bytes painted before, as far as the new size keeps them. */
static void watch_kept(const struct born *old, const unsigned char *start, size_t bytes)
{
    each_part(watch, old, start, old->asked < bytes ? old->asked : bytes, "in realloc");
}

static void watch_zeros(const unsigned char *start, size_t from, size_t to)
{
    for (size_t offset = from; offset < to; offset++)
        if (start[offset] != 0)
            fail("calloc: byte %zu is %d, not 0", offset, start[offset]);
}

static void watch_calloc(const unsigned char *start, size_t bytes)
{
    if (bytes <= ALL_ZERO_BYTES) {
        watch_zeros(start, 0, bytes);
        return;
    }
    for (size_t page = 0; page < bytes; page += PAGE) {
        size_t end = page + PAGE < bytes ? page + PAGE : bytes;
        watch_zeros(start, page, page + PAGE_EDGE < end ? page + PAGE_EDGE : end);
        watch_zeros(start, end - page > PAGE_EDGE ? end - PAGE_EDGE : page, end);
    }
}

/* The block is where the library says, of the size asked; it gets a pattern of its own. */
static int64_t remember(struct born *block, void *start, size_t asked, size_t alignment)
{
    static unsigned char births;
    if (start == NULL) {
        if (errno != ENOMEM)
            fail("a failed allocation leaves errno at %d, not ENOMEM", errno);
        return -1;
    }
    if (errno != 0)
        fail("success sets errno to %d", errno);
    *block = (struct born){ start, asked, library.malloc_usable_size(start), ++births };
    if ((uintptr_t)start % alignment != 0)
        fail("the block at %p is not aligned to %zu", start, alignment);
    if (block->usable < asked)
        fail("malloc_usable_size is %zu for a block of %zu bytes", block->usable, asked);
    each_part(paint, block, block->start, block->usable, "");
    return library.locate(start);
}

/* The alignment of a block for `bytes`, whatever the request says (docs/machine.md, 'from size to class'). */
static size_t least_alignment(size_t bytes)
{
    return bytes >= 16 ? 16 : grain;
}

static int64_t resize(const struct event *event)
{
    struct born *block = born(event->block);
    struct born old = *block;
    size_t bytes = (size_t)event->bytes;
    if (old.start != NULL)
        watch_life(&old);
    errno = 0;
    void *start = call_from(event->group, (function *)library.realloc, (size_t)old.start, bytes);
    if (start == NULL && old.start != NULL) {
        if (errno != ENOMEM)
            fail("a failed realloc leaves errno at %d, not ENOMEM", errno);
        watch_life(&old);
        return -1;
    }
    if (old.start != NULL)
        watch_kept(&old, start, bytes);
    return remember(block, start, bytes, least_alignment(bytes));
}

static void release(const struct event *event)
{
    struct born *block = born(event->block);
    if (block->start != NULL)
        watch_life(block);
    errno = 0;
    if (event->op == FREE)
        library.free(block->start);
    else if (event->align_log2 > 0)
        library.free_aligned_sized(block->start, (size_t)1 << event->align_log2, (size_t)event->bytes);
    else
        library.free_sized(block->start, (size_t)event->bytes);
    if (errno != 0)
        fail("free sets errno to %d", errno);
    *block = (struct born){ 0 };
}

static int64_t allocate(const struct event *event)
{
    size_t bytes = (size_t)event->bytes;
    size_t alignment = event->op == ALIGNED ? (size_t)1 << event->align_log2 : 1;
    struct born *block = born(event->block);
    void *start;
    errno = 0;
    if (event->op == ALIGNED)
        start = call_from(event->group, (function *)library.aligned_alloc, alignment, bytes);
    else
        start = event->op == MALLOC ? call_from(event->group, (function *)library.malloc, bytes, 0)
                                    : call_from(event->group, (function *)library.calloc, 1, bytes);
    if (event->op == CALLOC && start != NULL)
        watch_calloc(start, bytes);
    size_t least = least_alignment(bytes);
    return remember(block, start, bytes, alignment > least ? alignment : least);
}

int64_t perform(const struct event *event)
{
    switch (event->op) {
    case MALLOC:
    case CALLOC:
    case ALIGNED:
        return allocate(event);
    case REALLOC:
        return resize(event);
    case FREE:
    case FREE_SIZED:
        release(event);
        return -1;
    case THREAD_START:
    case THREAD_EXIT:
        return -1;
    default:
        fail("operation %d is not one of 0 to 7", event->op);
    }
}

void forget_blocks(void)
{
    memset(table, 0, table_size * sizeof *table);
}
