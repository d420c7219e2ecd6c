/* The run span and its table: reserved without access, made writable as top rises. */
#include "7_large/run_pages.h"

#include "3_records/heap.h"
#include "2_system/os.h"
#include "2_system/populate/populate.h"
#include "7_large/thp/thp_runs.h"

struct run_span hs_runs;

enum { PAGE_PARTS = 3 };

/* Pages of the span, their records, and their stamps. */
static void page_parts(size_t from, size_t end, struct os_part part[PAGE_PARTS])
{
    part[0] = (struct os_part){ hs_runs.start + from * PAGE_BYTES, (end - from) * PAGE_BYTES };
    part[1] = (struct os_part){ hs_runs.page + from, (end - from) * sizeof *hs_runs.page };
    part[2] = (struct os_part){ hs_runs.stamp + from, (end - from) * RUN_STAMP_BYTES };
}

size_t pages_space(void)
{
    return HUGE_PAGE_BYTES + RUN_SPAN_BYTES + whole_pages(RUN_SPAN_PAGES * sizeof(struct page)) +
           whole_pages(RUN_SPAN_PAGES * RUN_STAMP_BYTES);
}

void pages_init(void)
{
    hs_runs.start = os_range(RUN_SPAN_BYTES, HUGE_PAGE_BYTES);
    hs_runs.page = os_range(RUN_SPAN_PAGES * sizeof *hs_runs.page, PAGE_BYTES);
    hs_runs.stamp = os_range(RUN_SPAN_PAGES * (size_t)RUN_STAMP_BYTES, PAGE_BYTES);
    hs_runs.pages = RUN_SPAN_PAGES;
    thp_runs_reset();
}

size_t pages_vacate(void)
{
    struct os_part part[PAGE_PARTS];
    page_parts(hs_runs.writable, RUN_SPAN_PAGES, part);
    return os_unmap_all(part, PAGE_PARTS);
}

void pages_reset(size_t span_bytes)
{
    struct os_part part[PAGE_PARTS];
    page_parts(0, RUN_SPAN_PAGES, part);
    for (size_t index = 0; index < PAGE_PARTS; index++)
        os_decommit(part[index].start, part[index].bytes);
    size_t most = span_bytes / PAGE_BYTES;
    hs_runs.pages = most < RUN_SPAN_PAGES ? most : RUN_SPAN_PAGES;
    hs_runs.writable = 0;
    hs_runs.top = 0;
    hs_runs.sealed = false;
    thp_runs_reset();
}

static size_t round_up_capped(size_t page, size_t step)
{
    size_t rounded = (page + step - 1) / step * step;
    return rounded < hs_runs.pages ? rounded : hs_runs.pages;
}

/* The pages below are committed, but for those of free runs, and none above. */
static size_t committed_end(size_t top)
{
    return round_up_capped(top, thp_runs_whole(top) ? HUGE_PAGE_PAGES : COMMIT_STEP / PAGE_BYTES);
}

void pages_shrink(void)
{
    struct os_part part[PAGE_PARTS];
    size_t end = committed_end(hs_runs.top);
    if (os_reserving || end >= hs_runs.writable)
        return;
    page_parts(end, hs_runs.writable, part);
    os_unmap_all(part, PAGE_PARTS);
    hs_runs.writable = end;
}

static bool make_writable(size_t end)
{
    size_t from = hs_runs.writable;
    struct os_part part[PAGE_PARTS];
    page_parts(from, end, part);
    if (!os_commit_all(part, PAGE_PARTS))
        return false;
    thp_runs_writable(from, end);
    hs_runs.writable = end;
    return true;
}

/* What the system did not grant beyond top stays as it is. */
static void populate_below_writable(size_t first, size_t length)
{
    size_t room = hs_runs.writable > first ? hs_runs.writable - first : 0;
    populate(hs_runs.start + first * PAGE_BYTES, (length < room ? length : room) * PAGE_BYTES);
}

bool pages_rise(uint32_t first, uint32_t top)
{
    enum { SPARE_STEP = 16 };
    const bool sparing = os_sparing && (uint64_t)top * PAGE_BYTES < SPARED_BYTES;
    os_refused = false;
    if (top > hs_runs.pages)
        return false;
    if (top > hs_runs.writable && !make_writable(round_up_capped(top, sparing ? SPARE_STEP : RUN_STEP_BYTES / PAGE_BYTES)) &&
        !make_writable(top))
        return false;
    size_t from = committed_end(hs_runs.top);
    size_t more = committed_end(top) - from;
    if (more > 0) {
        populate_below_writable(from, more);
        count_committed((int64_t)(more * PAGE_BYTES));
    }
    set_run_state(first, RUN_GONE);
    __atomic_store_n(&hs_runs.top, top, __ATOMIC_RELEASE); /* whoever sees it may read the records below */
    return true;
}

bool pages_open(uint32_t first, uint32_t length)
{
    if (!os_commit(hs_runs.start + (size_t)first * PAGE_BYTES, (size_t)length * PAGE_BYTES))
        return false;
    thp_runs_writable(first, first + length);
    return true;
}

bool pages_close(uint32_t first, uint32_t length)
{
    return os_decommit(hs_runs.start + (size_t)first * PAGE_BYTES, (size_t)length * PAGE_BYTES);
}

uint32_t pages_ahead(void)
{
    return (uint32_t)(committed_end(hs_runs.top) - hs_runs.top);
}
