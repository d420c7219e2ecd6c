/* Runs of pages: split when handed out, merged with their neighbours when freed; who may free one. */
#include "7_large/runs.h"

#include "3_records/heap.h"
#include "5_slab_policies/release/release.h"
#include "7_large/run_ages.h"
#include "7_large/run_bins.h"
#include "7_large/run_extents.h"
#include "7_large/run_pages.h"
#include "7_large/thp/thp_runs.h"
#include "moments.h"

/* Hands out free pages below top, some of them committed. *zero: the pages read as zero. */
static void hand_out(uint32_t length, uint32_t committed, bool *zero)
{
    size_t bytes = (size_t)(length - committed) * PAGE_BYTES;
    *zero = committed == 0 && !RELEASE_LAZILY;
    release_needed_runs(bytes);
    thp_runs_reused(length - committed);
    if (bytes > 0)
        count_committed((int64_t)bytes);
}

/* A free run's low pages are handed out, the rest is pushed on its bin. */
static bool take_low(uint32_t first, uint32_t length, bool *zero)
{
    if (!extents_open(first, length))
        return false;
    on_run_taken(first, length);
    uint32_t rest = hs_runs.page[first].length - length;
    uint32_t dirty = hs_runs.page[first].dirty;
    bins_unlink(first);
    uint32_t committed = extents_take(first, length);
    hand_out(length, committed, zero);
    if (rest > 0)
        bins_push(first + length, rest, dirty - committed);
    return true;
}

/* Pages from `first` on are handed out: the free run that begins there, if first is below top, and what it lacks from top. */
static bool take_top(uint32_t first, uint32_t length, bool *zero)
{
    uint32_t below = hs_runs.top - first;
    if (!extents_open(first, below))
        return false;
    if (!pages_rise(first, first + length)) {
        extents_close(first, below);
        return false;
    }
    *zero = true;
    if (below > 0) {
        on_run_taken(first, below);
        bins_unlink(first);
        hand_out(below, hs_runs.page[first].dirty, zero);
    }
    return true;
}

/* Where the free run that ends at top begins; top if there is none. */
static uint32_t before_top(void)
{
    uint32_t top = hs_runs.top;
    return top > 0 && hs_runs.page[top - 1].ends_free ? top - hs_runs.page[top - 1].length : top;
}

static void *handed(uint32_t first, uint32_t length)
{
    hs_runs.page[first].length = length;
    set_run_state(first, RUN_USED);
    return hs_runs.start + (size_t)first * PAGE_BYTES;
}

/* The run before top may be long enough itself, where others of its bin hid it. */
void *runs_reuse(size_t pages, bool *zero)
{
    uint32_t length = (uint32_t)pages;
    thp_runs_look();
    uint32_t found = bins_find(length);
    uint32_t first = found != 0 ? found - 1 : before_top();
    if (first == hs_runs.top || hs_runs.page[first].length < length || !take_low(first, length, zero))
        return NULL;
    count_own(&hs_count.run_reuse, 1);
    return handed(first, length);
}

void *runs_grow(size_t pages, bool *zero)
{
    uint32_t length = (uint32_t)pages;
    uint32_t first = before_top();
    if (!take_top(first, length, zero))
        return NULL;
    count_own(&hs_count.run_grow, 1);
    return handed(first, length);
}

static void free_run(void *block, enum extent_kind kind)
{
    uint32_t first = (uint32_t)runs_number(block);
    uint32_t length = hs_runs.page[first].length;
    uint32_t dirty = kind == EXTENT_COMMITTED ? length : 0;
    uint32_t end = first + length;
    count_own(&hs_count.run_free, 1);
    release_freed((size_t)length * PAGE_BYTES);
    extent_set(first, length, kind);
    if (first > 0 && hs_runs.page[first - 1].ends_free) {
        extent_join(first);
        set_run_state(first, RUN_NONE);
        first -= hs_runs.page[first - 1].length;
        dirty += hs_runs.page[first].dirty;
        bins_unlink(first);
    }
    if (end < hs_runs.top && run_state(end) == RUN_FREE) {
        extent_join(end);
        uint32_t behind = hs_runs.page[end].length;
        dirty += hs_runs.page[end].dirty;
        bins_unlink(end);
        set_run_state(end, RUN_NONE);
        end += behind;
    }
    bins_push(first, end - first, dirty);
    ages_release();
}

void runs_free(void *block)
{
    free_run(block, EXTENT_COMMITTED);
}

void runs_left(void *block)
{
    hs_runs.page[runs_number(block)].age = AGE_CLEAN; /* it may be a sample still */
    free_run(block, EXTENT_RELEASED);
}

bool runs_extend(void *block, size_t pages)
{
    uint32_t first = (uint32_t)runs_number(block);
    uint32_t end = first + hs_runs.page[first].length;
    uint32_t more = first + (uint32_t)pages - end;
    uint32_t behind = end < hs_runs.top && run_state(end) == RUN_FREE ? hs_runs.page[end].length : 0;
    bool zero;
    if (behind < more && end + behind != hs_runs.top)
        return false;
    if (!(behind >= more ? take_low(end, more, &zero) : take_top(end, more, &zero)))
        return false;
    set_run_state(end, RUN_NONE);
    hs_runs.page[first].length = (uint32_t)pages;
    count_own(&hs_count.run_extend, 1);
    return true;
}

int64_t runs_number(const void *block)
{
    return (int64_t)run_number(block);
}

bool runs_span_holds(const void *address)
{
    return (uintptr_t)address - (uintptr_t)hs_runs.start < hs_runs.pages * PAGE_BYTES;
}

size_t runs_pages(const void *block)
{
    uint32_t first = run_first_page(block);
    return first != UINT32_MAX && run_state(first) == RUN_USED ? hs_runs.page[first].length : 0;
}

void runs_unclaim(void *block)
{
    set_run_state((uint32_t)runs_number(block), RUN_USED);
}

struct run_census runs_census(void)
{
    struct run_census census = { .committed_pages = pages_ahead() };
    for (uint32_t first = 0; first < hs_runs.top; first += hs_runs.page[first].length) {
        const struct page *run = &hs_runs.page[first];
        enum run_state state = run_state(first);
        census.used_pages += state == RUN_USED ? run->length : 0;
        census.gone_pages += state == RUN_GONE ? run->length : 0;
        census.runs_gone += state == RUN_GONE;
        census.committed_pages += state == RUN_FREE ? run->dirty : run->length;
    }
    return census;
}

static void check_run(uint32_t first, bool free_before)
{
    const struct page *run = &hs_runs.page[first];
    bool is_free = run_state(first) == RUN_FREE;
    check(run_state(first) != RUN_NONE && run->length > 0, "runs follow each other up to the top");
    check(first + run->length <= hs_runs.top, "the last run ends at the top");
    for (uint32_t page = first + 1; page < first + run->length; page++)
        check(run_state(page) == RUN_NONE, "no run begins inside another");
    for (uint32_t page = first; page < first + run->length; page++)
        check(hs_runs.page[page].ends_free == (is_free && page == first + run->length - 1), "free runs end where they say");
    if (!is_free)
        return;
    check(!free_before, "free neighbours are merged");
    check(extents_check(first, run->length) == run->dirty, "dirty == committed pages of a free run");
    check(hs_runs.page[first + run->length - 1].length == run->length, "a free run's two tags agree");
    check((run->dirty > 0) == (run->age != AGE_CLEAN), "a free run with committed pages ages, unless the OS refused them");
}

void runs_check(void)
{
    size_t free_runs = 0;
    bool free_before = false;
    for (uint32_t first = 0; first < hs_runs.top; first += hs_runs.page[first].length) {
        check_run(first, free_before);
        free_before = run_state(first) == RUN_FREE;
        free_runs += free_before;
    }
    check(bins_check() == free_runs, "every free run hangs in a bin");
    check(hs_runs.top <= hs_runs.writable && hs_runs.writable <= hs_runs.pages, "top <= writable <= pages");
    ages_check();
}

void runs_reset(size_t span_bytes)
{
    pages_reset(span_bytes);
    ages_reset();
    bins_reset();
}
