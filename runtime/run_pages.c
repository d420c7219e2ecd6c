/* The run span and its tables: reserved without access, made writable as top rises; which pages are committed. */
#include "run_pages.h"

#include "heap.h"
#include "os.h"

#include <string.h>

enum { HUGE_PAGE_PAGES = HUGE_PAGE_BYTES / PAGE_BYTES, SMALL_PAGES = THP_RUNS_FROM_BYTES / PAGE_BYTES };

struct run_span hs_runs;

/* Small or huge pages, as the design wants them there. */
static void advise(size_t first, size_t length)
{
    size_t huge = THP_ASKED && first < SMALL_PAGES ? SMALL_PAGES : first;
    if ((THP_ASKED || THP_NEVER) && huge < first + length)
        os_huge_pages(hs_runs.start + huge * PAGE_BYTES, (first + length - huge) * PAGE_BYTES, THP_ASKED);
}

static bool reserve_pages(size_t count)
{
    struct run_span span = { .pages = count };
    span.start = os_reserve(count * PAGE_BYTES, HUGE_PAGE_BYTES);
    span.page = span.start == NULL ? NULL : os_reserve(count * sizeof *span.page, PAGE_BYTES);
    span.content = span.page == NULL ? NULL : os_reserve(count, PAGE_BYTES);
    hs_runs = span;
    if (span.content == NULL) {
        pages_unreserve();
        return false;
    }
    advise(0, count);
    return true;
}

bool pages_reserve(size_t span_limit)
{
    for (size_t count = RUN_SPAN_PAGES; count * PAGE_BYTES >= SMALLEST_RUN_SPAN; count /= 2) {
        bool too_much = count * PAGE_BYTES > span_limit && count * PAGE_BYTES / 2 >= SMALLEST_RUN_SPAN;
        if (!too_much && reserve_pages(count))
            return true;
    }
    return false;
}

void pages_unreserve(void)
{
    if (hs_runs.start != NULL)
        os_unmap(hs_runs.start, hs_runs.pages * PAGE_BYTES);
    if (hs_runs.page != NULL)
        os_unmap(hs_runs.page, hs_runs.pages * sizeof *hs_runs.page);
    if (hs_runs.content != NULL)
        os_unmap(hs_runs.content, hs_runs.pages);
    hs_runs = (struct run_span){ 0 };
}

static size_t round_up_capped(size_t page, size_t step)
{
    size_t rounded = (page + step - 1) / step * step;
    return rounded < hs_runs.pages ? rounded : hs_runs.pages;
}

/* What a refused call leaves writable above `writable` does no harm: the next one asks for it again. */
static bool make_writable(size_t end)
{
    size_t from = hs_runs.writable;
    size_t more = end - from;
    if (!os_commit(hs_runs.page + from, more * sizeof *hs_runs.page) || !os_commit(hs_runs.content + from, more) ||
        !os_commit(hs_runs.start + from * PAGE_BYTES, more * PAGE_BYTES))
        return false;
    hs_runs.writable = end;
    return true;
}

/* The bytes written lie in the table's writable part, whatever `writable` is: its pages hold 4,096 of them, a multiple of
 * HUGE_PAGE_PAGES, and are made writable whole. */
static void commit_ahead(size_t from, size_t end)
{
    for (size_t page = from; page < end; page++)
        hs_runs.content[page] |= PAGE_COMMITTED;
    if (end > from)
        count_committed((int64_t)((end - from) * PAGE_BYTES));
}

bool pages_rise(uint32_t top)
{
    if (top > hs_runs.pages)
        return false;
    if (top > hs_runs.writable && !make_writable(round_up_capped(top, RUN_STEP_PAGES)) && !make_writable(top))
        return false;
    if (THP_ASKED) {
        size_t huge = round_up_capped(hs_runs.top, HUGE_PAGE_PAGES);
        commit_ahead(huge > SMALL_PAGES ? huge : SMALL_PAGES, round_up_capped(top, HUGE_PAGE_PAGES));
    }
    __atomic_store_n(&hs_runs.top, top, __ATOMIC_RELEASE); /* whoever sees it may read the records below */
    return true;
}

uint32_t pages_committed(uint32_t first, uint32_t length)
{
    uint32_t committed = 0;
    for (uint32_t page = first; page < first + length; page++)
        committed += hs_runs.content[page] & PAGE_COMMITTED;
    return committed;
}

uint32_t pages_touch(uint32_t first, uint32_t length, bool *zero)
{
    uint32_t committed = 0;
    uint8_t any = 0;
    for (uint32_t page = first; page < first + length; page++) {
        committed += hs_runs.content[page] & PAGE_COMMITTED;
        any |= hs_runs.content[page];
    }
    memset(hs_runs.content + first, PAGE_STALE | PAGE_COMMITTED, length);
    if (committed < length)
        count_committed((int64_t)(length - committed) * PAGE_BYTES);
    *zero = (any & PAGE_STALE) == 0;
    return committed;
}

void pages_forget(uint32_t first, uint32_t length, bool lazily)
{
    for (uint32_t page = first; page < first + length; page++)
        hs_runs.content[page] &= PAGE_SEALED | (lazily ? PAGE_STALE : 0);
}

bool pages_seal(uint32_t first, uint32_t length)
{
    uint32_t sealed = 0;
    for (uint32_t page = first; page < first + length; page++)
        sealed += hs_runs.content[page] == PAGE_SEALED;
    if (sealed == length || !os_decommit(hs_runs.start + (size_t)first * PAGE_BYTES, (size_t)length * PAGE_BYTES))
        return false;
    memset(hs_runs.content + first, PAGE_SEALED, length);
    return true;
}

bool pages_open(uint32_t first, uint32_t length)
{
    if (memchr(hs_runs.content + first, PAGE_SEALED, length) == NULL)
        return true;
    if (!os_commit(hs_runs.start + (size_t)first * PAGE_BYTES, (size_t)length * PAGE_BYTES))
        return false;
    advise(first, length);
    for (uint32_t page = first; page < first + length; page++)
        hs_runs.content[page] &= (uint8_t)~PAGE_SEALED;
    return true;
}

uint32_t pages_ahead(void)
{
    bool huge = THP_ASKED && hs_runs.top > SMALL_PAGES;
    return huge ? (uint32_t)round_up_capped(hs_runs.top, HUGE_PAGE_PAGES) - hs_runs.top : 0;
}
