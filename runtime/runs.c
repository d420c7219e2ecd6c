/* Runs of pages: LIFO bins by length, the rest of a split goes back to its bin, neighbours merge when freed. */
#include "runs.h"

#include "heap.h"
#include "os.h"

#include <string.h>

/* What is known of a run at its first page, and its length at its last page too (boundary tags: Knuth, TAOCP 1, 2.5). */
struct page {
    uint32_t length;   /* of the run; 0 inside a run */
    uint32_t next;     /* free: bin's LIFO list, 1 + page; 0 ends it */
    uint32_t previous; /* likewise */
    uint8_t free;
    uint8_t used; /* first page of a run handed out */
};

static char *span;
static size_t span_pages;
static size_t writable_pages;  /* pages below are committed to the process; grows in COMMIT_STEP */
static struct page *pages;
static uint8_t *touched;       /* per page: handed out since it was last released */
static uint32_t top;           /* first page never used or given back to the top */
static uint32_t bin[RUN_BINS]; /* 1 + first page of the most recently freed run, 0 when empty */

enum { COMMIT_STEP = 1024 };

bool runs_init(size_t span_limit)
{
    for (size_t count = RUN_SPAN_PAGES; count * PAGE_BYTES >= SMALLEST_RUN_SPAN; count /= 2) {
        if (count * PAGE_BYTES > span_limit && count * PAGE_BYTES / 2 >= SMALLEST_RUN_SPAN)
            continue;
        char *reserved = os_reserve(count * PAGE_BYTES, SUPERSLAB_BYTES);
        struct page *table = reserved == NULL ? NULL : os_map((count + 1) * sizeof *table, 1);
        uint8_t *bytes = table == NULL ? NULL : os_map(count, 1);
        if (bytes != NULL) {
            span = reserved;
            pages = table;
            touched = bytes;
            span_pages = count;
            return true;
        }
        if (reserved != NULL)
            os_unmap(reserved, count * PAGE_BYTES);
        if (table != NULL)
            os_unmap(table, (count + 1) * sizeof *table);
    }
    return false;
}

static unsigned bin_of(uint32_t length)
{
    if (length <= 32)
        return length - 1;
    unsigned k = 31u - (unsigned)__builtin_clz(length);
    unsigned index = 32 + 4 * (k - 5) + ((length >> (k - 2)) & 3);
    return index < RUN_BINS ? index : RUN_BINS - 1;
}

static void tag(uint32_t page, uint32_t length, bool free)
{
    pages[page].length = pages[page + length - 1].length = length;
    pages[page].free = pages[page + length - 1].free = free;
    pages[page].used = !free;
}

static void push_free(uint32_t page, uint32_t length)
{
    uint32_t *head = &bin[bin_of(length)];
    tag(page, length, true);
    pages[page].previous = 0;
    pages[page].next = *head;
    if (*head != 0)
        pages[*head - 1].previous = page + 1;
    *head = page + 1;
}

static void unlink_free(uint32_t page)
{
    struct page *run = &pages[page];
    if (run->previous != 0)
        pages[run->previous - 1].next = run->next;
    else
        bin[bin_of(run->length)] = run->next;
    if (run->next != 0)
        pages[run->next - 1].previous = run->previous;
    pages[page + run->length - 1].free = run->free = 0;
}

/* A free run of at least `length` pages, 1 + page; 0 if no bin has one. */
static uint32_t find(uint32_t length)
{
    unsigned index = bin_of(length);
    uint32_t run = bin[index];
    while (run != 0 && pages[run - 1].length < length)
        run = pages[run - 1].next;
    while (run == 0 && ++index < RUN_BINS)
        run = bin[index];
    return run;
}

static bool make_writable(size_t end)
{
    if (end > span_pages)
        return false;
    if (end <= writable_pages)
        return true;
    size_t wanted = (end + COMMIT_STEP - 1) / COMMIT_STEP * COMMIT_STEP;
    if (wanted > span_pages)
        wanted = span_pages;
    if (!os_commit(span + writable_pages * PAGE_BYTES, (wanted - writable_pages) * PAGE_BYTES))
        return false;
    writable_pages = wanted;
    return true;
}

/* Marks the pages handed out; true if none of them was before. */
static bool touch(uint32_t page, uint32_t length)
{
    uint32_t fresh = 0;
    for (uint32_t index = page; index < page + length; index++)
        fresh += !touched[index];
    memset(touched + page, 1, length);
    if (fresh > 0)
        count_committed((int64_t)fresh * PAGE_BYTES);
    return fresh == length;
}

/* The low part of a free run becomes (part of) a block, the rest goes back to its bin. */
static void split(uint32_t page, uint32_t length)
{
    uint32_t rest = pages[page].length - length;
    unlink_free(page);
    if (rest > 0)
        push_free(page + length, rest);
}

void *runs_alloc(size_t wanted, bool *zero)
{
    uint32_t length = (uint32_t)wanted;
    uint32_t found = find(length);
    uint32_t page = top;
    if (found != 0) {
        page = found - 1;
        split(page, length);
        hs_count.run_reuse++;
    } else {
        if (!make_writable((size_t)top + length))
            return NULL;
        top += length;
        hs_count.run_grow++;
    }
    tag(page, length, false);
    *zero = touch(page, length);
    return span + (size_t)page * PAGE_BYTES;
}

static void release(uint32_t page, uint32_t length)
{
    if (!release_run(length) || !os_release(span + (size_t)page * PAGE_BYTES, (size_t)length * PAGE_BYTES))
        return;
    memset(touched + page, 0, length);
    count_shared(&hs_count.releases, 1);
    count_shared(&hs_count.released_bytes, (uint64_t)length * PAGE_BYTES);
    count_committed(-(int64_t)length * PAGE_BYTES);
}

void runs_free(void *block)
{
    uint32_t page = (uint32_t)runs_number(block);
    uint32_t length = pages[page].length;
    hs_count.run_free++;
    release(page, length);
    pages[page].used = 0;
    if (page > 0 && pages[page - 1].free) {
        uint32_t before = pages[page - 1].length;
        unlink_free(page - before);
        page -= before;
        length += before;
    }
    if (page + length < top && pages[page + length].free) {
        uint32_t behind = pages[page + length].length;
        unlink_free(page + length);
        length += behind;
    }
    if (page + length == top)
        top = page;
    else
        push_free(page, length);
}

bool runs_extend(void *block, size_t wanted)
{
    uint32_t page = (uint32_t)runs_number(block);
    uint32_t length = pages[page].length;
    uint32_t end = page + length;
    uint32_t more = (uint32_t)wanted - length;
    if (end == top) {
        if (!make_writable((size_t)top + more))
            return false;
        top += more;
    } else if (pages[end].free && pages[end].length >= more) {
        split(end, more);
    } else {
        return false;
    }
    hs_count.run_extend++;
    tag(page, (uint32_t)wanted, false);
    touch(end, more);
    return true;
}

int64_t runs_number(const void *block)
{
    return (int64_t)(((uintptr_t)block - (uintptr_t)span) / PAGE_BYTES);
}

size_t runs_pages(const void *block)
{
    uintptr_t offset = (uintptr_t)block - (uintptr_t)span;
    if (span == NULL || offset >= (uintptr_t)top * PAGE_BYTES || offset % PAGE_BYTES != 0)
        return 0;
    struct page *run = &pages[offset / PAGE_BYTES];
    return run->used ? run->length : 0;
}

void runs_check(void)
{
    bool free_before = false;
    for (uint32_t page = 0; page < top; page += pages[page].length) {
        struct page *run = &pages[page];
        check(run->length > 0 && run->length == pages[page + run->length - 1].length, "a run's two tags agree");
        check(run->used != run->free, "a run is used or free");
        check(!(free_before && run->free), "free neighbours are merged");
        free_before = run->free;
    }
    check(!free_before, "no free run touches the top");
}

bool runs_reset(void)
{
    os_unmap(span, span_pages * PAGE_BYTES);
    os_unmap(pages, (span_pages + 1) * sizeof *pages);
    os_unmap(touched, span_pages);
    memset(bin, 0, sizeof bin);
    top = 0;
    writable_pages = 0;
    return runs_init(os_address_space() / 4);
}
