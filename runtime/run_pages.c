/* The run span and its table: reserved without access, made writable as top rises. */
#include "run_pages.h"

#include "heap.h"
#include "os.h"

enum { SMALL_PAGES = THP_RUNS_FROM_BYTES / PAGE_BYTES }; /* a multiple of HUGE_PAGE_PAGES */

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
    hs_runs = span;
    if (span.page == NULL) {
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
    if (!os_commit(hs_runs.page + from, more * sizeof *hs_runs.page) ||
        !os_commit(hs_runs.start + from * PAGE_BYTES, more * PAGE_BYTES))
        return false;
    hs_runs.writable = end;
    return true;
}

/* The pages below are committed, but for those of free runs, and none above. */
static size_t committed_end(size_t top)
{
    return THP_ASKED && top > SMALL_PAGES ? round_up_capped(top, HUGE_PAGE_PAGES) : top;
}

bool pages_rise(uint32_t top)
{
    if (top > hs_runs.pages)
        return false;
    if (top > hs_runs.writable && !make_writable(round_up_capped(top, RUN_STEP_PAGES)) && !make_writable(top))
        return false;
    size_t more = committed_end(top) - committed_end(hs_runs.top);
    if (more > 0)
        count_committed((int64_t)(more * PAGE_BYTES));
    __atomic_store_n(&hs_runs.top, top, __ATOMIC_RELEASE); /* whoever sees it may read the records below */
    return true;
}

bool pages_open(uint32_t first, uint32_t length)
{
    if (!os_commit(hs_runs.start + (size_t)first * PAGE_BYTES, (size_t)length * PAGE_BYTES))
        return false;
    advise(first, length);
    return true;
}

uint32_t pages_ahead(void)
{
    return (uint32_t)(committed_end(hs_runs.top) - hs_runs.top);
}
