/* The run span and its table: reserved without access, made writable as top rises. */
#include "7_large/run_pages.h"

#include "3_records/heap.h"
#include "2_system/os.h"
#include "2_system/populate/populate.h"

enum { SMALL_PAGES = THP_RUNS_FROM_BYTES / PAGE_BYTES }; /* a multiple of HUGE_PAGE_PAGES */

struct run_span hs_runs;

/* Huge pages from SMALL_PAGES on, where pages of runs are written (docs/machine.md, section 6). Of each stride the first
 * huge page's place keeps small pages, which tell what the program writes. */
enum {
    SEEKS_EVIDENCE = THP_ASKED && THP_RUNS_FROM_BYTES > 0 && SMALL_PAGES < RUN_SPAN_PAGES,
    STRIDE_PAGES = 8 * HUGE_PAGE_PAGES,
    STRETCHES = 8, /* from a look to the next: this part of the span, or a stride */
    PLACES = 4,    /* that a look samples, */
    SAMPLES = 16,  /* and pages of each */
};

static struct {
    bool dense;      /* what the last look found */
    size_t mark;     /* the next look, where pages from here on become writable */
    uint32_t reused; /* pages that had gone back and were handed out again, since the last look for that */
} evidence = { false, SMALL_PAGES, 0 };

/* One page of each SAMPLES-th part of a place, at another offset in each part so that blocks of its length are seen whole;
 * no page of a free run. */
static unsigned sample(size_t place, const void **page)
{
    enum { PART = HUGE_PAGE_PAGES / SAMPLES, TURN = PART * 5 / 8 - 1 };
    unsigned sampled = 0;
    uint32_t run = (uint32_t)place;
    while (run_state(run) == RUN_NONE)
        run--;
    for (size_t part = 0; part < SAMPLES; part++) {
        size_t at = place + part * PART + part * TURN % PART;
        while (run + hs_runs.page[run].length <= at)
            run += hs_runs.page[run].length;
        if (run_state(run) != RUN_FREE)
            page[sampled++] = hs_runs.start + at * PAGE_BYTES;
    }
    return sampled;
}

/* Is 7/8 written of what is sampled in every step-th stride, from the last one below top? */
static bool runs_are_dense(size_t strides, size_t step)
{
    const void *page[PLACES * SAMPLES];
    unsigned sampled = 0;
    for (size_t index = 0; index < PLACES && index * step < strides; index++)
        sampled += sample((strides - 1 - index * step) * STRIDE_PAGES, page + sampled);
    return sampled >= SAMPLES && os_written(page, sampled) * 8 >= sampled * 7;
}

/* Whose first place lies below top. */
static size_t strides_below_top(void)
{
    return (hs_runs.top + STRIDE_PAGES - HUGE_PAGE_PAGES) / STRIDE_PAGES;
}

/* What was taken for dense and is not gets no more huge pages. */
static void change(bool dense)
{
    if (evidence.dense && !dense && hs_runs.writable > SMALL_PAGES)
        os_huge_pages(hs_runs.start + (size_t)SMALL_PAGES * PAGE_BYTES, (hs_runs.writable - SMALL_PAGES) * PAGE_BYTES,
                      false);
    evidence.dense = dense;
}

/* Pages below `end` become writable: a look at the last stretch. */
COLD static void look_below_top(size_t end)
{
    size_t below = strides_below_top(), strides = end / STRIDE_PAGES;
    change(runs_are_dense(below, below / (STRETCHES * PLACES) + 1));
    evidence.mark = (strides + (strides < STRETCHES ? 1 : strides / STRETCHES)) * STRIDE_PAGES;
}

/* A look at the whole span. */
COLD static void look_all_over(void)
{
    size_t below = strides_below_top();
    evidence.reused = 0;
    change(runs_are_dense(below, (below + PLACES - 1) / PLACES));
}

/* Huge pages but for the first place of each stride. */
static void advise_strides(size_t first, size_t end)
{
    for (size_t page = first, behind; page < end; page = behind) {
        size_t stride = page / STRIDE_PAGES * STRIDE_PAGES;
        size_t from = page > stride + HUGE_PAGE_PAGES ? page : stride + HUGE_PAGE_PAGES;
        behind = stride + STRIDE_PAGES < end ? stride + STRIDE_PAGES : end;
        if (from < behind)
            os_huge_pages(hs_runs.start + from * PAGE_BYTES, (behind - from) * PAGE_BYTES, true);
    }
}

/* Small or huge pages, as the design wants them there. */
static void advise(size_t first, size_t length)
{
    size_t end = first + length;
    size_t huge = THP_ASKED && first < SMALL_PAGES ? SMALL_PAGES : first;
    if (!(THP_ASKED || THP_NEVER) || huge >= end)
        return;
    if (SEEKS_EVIDENCE && end > evidence.mark)
        look_below_top(end);
    if (!SEEKS_EVIDENCE)
        os_huge_pages(hs_runs.start + huge * PAGE_BYTES, (end - huge) * PAGE_BYTES, THP_ASKED);
    else if (evidence.dense)
        advise_strides(huge, end);
}

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
    return HUGE_PAGE_BYTES + RUN_SPAN_PAGES * (PAGE_BYTES + sizeof(struct page) + RUN_STAMP_BYTES);
}

void pages_init(void)
{
    hs_runs.start = os_range(RUN_SPAN_PAGES * (size_t)PAGE_BYTES, HUGE_PAGE_BYTES);
    hs_runs.page = os_range(RUN_SPAN_PAGES * sizeof *hs_runs.page, PAGE_BYTES);
    hs_runs.stamp = os_range(RUN_SPAN_PAGES * (size_t)RUN_STAMP_BYTES, PAGE_BYTES);
    hs_runs.pages = RUN_SPAN_PAGES;
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
    evidence.dense = false;
    evidence.mark = SMALL_PAGES;
    evidence.reused = 0;
}

static size_t round_up_capped(size_t page, size_t step)
{
    size_t rounded = (page + step - 1) / step * step;
    return rounded < hs_runs.pages ? rounded : hs_runs.pages;
}

/* The pages below are committed, but for those of free runs, and none above. */
static size_t committed_end(size_t top)
{
    bool is_huge = THP_ASKED && top > SMALL_PAGES;
    return round_up_capped(top, is_huge ? HUGE_PAGE_PAGES : COMMIT_STEP / PAGE_BYTES);
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
    advise(from, end - from);
    hs_runs.writable = end;
    return true;
}

void pages_reused(uint32_t length)
{
    evidence.reused += evidence.dense ? length : 0;
}

void pages_look(void)
{
    if (SEEKS_EVIDENCE && evidence.reused >= STRIDE_PAGES)
        look_all_over();
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
    if (top > hs_runs.writable && !make_writable(round_up_capped(top, sparing ? SPARE_STEP : RUN_STEP_PAGES)) &&
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
    advise(first, length);
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
