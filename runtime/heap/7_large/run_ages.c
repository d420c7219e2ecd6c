/* Which free runs give their pages back, and when: the oldest first (docs/machine-rooms.md, 'release'). */
#include "7_large/run_ages.h"

#include "3_records/heap.h"
#include "5_slab_policies/release/release.h"
#include "7_large/run_extents.h"
#include "7_large/run_pages.h"

/* 1 + first page, 0 when the queue is empty; runs are put in at `newest_run` and released from `oldest_run`. */
static uint32_t oldest_run, newest_run;

static void set_queued(uint64_t pages)
{
    __atomic_store_n(&hs_queued_pages, pages, __ATOMIC_RELAXED);
}

void ages_join(uint32_t first)
{
    struct page *run = &hs_runs.page[first];
    run->age = run->dirty > 0 ? AGE_QUEUED : AGE_CLEAN;
    if (run->dirty == 0)
        return;
    if (RUN_STAMP_BYTES > 0)
        hs_runs.stamp[first] = release_clock();
    run->newer = 0;
    run->older = newest_run;
    if (newest_run != 0)
        hs_runs.page[newest_run - 1].newer = first + 1;
    else
        oldest_run = first + 1;
    newest_run = first + 1;
    set_queued(hs_queued_pages + run->dirty);
}

void ages_leave(uint32_t first)
{
    struct page *run = &hs_runs.page[first];
    if (run->age != AGE_QUEUED)
        return;
    if (run->newer != 0)
        hs_runs.page[run->newer - 1].older = run->older;
    else
        newest_run = run->older;
    if (run->older != 0)
        hs_runs.page[run->older - 1].newer = run->newer;
    else
        oldest_run = run->newer;
    set_queued(hs_queued_pages - run->dirty);
}

/* The run's pages are not committed any more: out of the queue. The bytes. */
static size_t gave_back(uint32_t first)
{
    struct page *run = &hs_runs.page[first];
    size_t bytes = (size_t)run->dirty * PAGE_BYTES;
    ages_leave(first);
    run->dirty = 0;
    run->age = AGE_CLEAN;
    if (bytes > 0) {
        count_shared(&hs_count.released_bytes, bytes);
        count_committed(-(int64_t)bytes);
    }
    return bytes;
}

/* The bytes given back, SIZE_MAX if the OS refuses: then the run keeps its pages and is out of the queue. */
static size_t give_back(uint32_t first, bool lazily)
{
    struct page *run = &hs_runs.page[first];
    if (extents_release(first, run->length, lazily))
        return gave_back(first);
    ages_leave(first);
    run->age = run->dirty > 0 ? AGE_REFUSED : AGE_CLEAN;
    return SIZE_MAX;
}

static bool oldest_goes(uint32_t gone)
{
    uint64_t stamp = RUN_STAMP_BYTES > 0 ? hs_runs.stamp[oldest_run - 1] : 0;
    return release_run_goes(stamp, hs_queued_pages * PAGE_BYTES, gone);
}

void ages_release(void)
{
    for (uint32_t gone = 0; oldest_run != 0; gone++)
        if (!oldest_goes(gone) || give_back(oldest_run - 1, RELEASE_LAZILY) == SIZE_MAX)
            return;
}

/* Not lazily: whoever trims wants the memory back now, also that of pages released lazily before, which counts whole. */
size_t ages_trim(void)
{
    size_t bytes = 0;
    for (uint32_t first = 0; first < hs_runs.top; first += hs_runs.page[first].length) {
        if (run_state(first) != RUN_FREE || (hs_runs.page[first].dirty == 0 && !RELEASE_LAZILY))
            continue;
        size_t given = give_back(first, false);
        if (given != SIZE_MAX)
            bytes += RELEASE_LAZILY ? hs_runs.page[first].length * (size_t)PAGE_BYTES : given;
    }
    return bytes;
}

size_t ages_reclaim(size_t wanted)
{
    size_t bytes = 0;
    for (uint32_t first = 0; first < hs_runs.top && bytes < wanted; first += hs_runs.page[first].length) {
        uint32_t sealed = run_state(first) == RUN_FREE ? extents_seal(first, hs_runs.page[first].length) : 0;
        if (sealed > 0)
            gave_back(first);
        bytes += (size_t)sealed * PAGE_BYTES;
    }
    return bytes;
}

void ages_check(void)
{
    uint64_t pages = 0, runs = 0;
    uint32_t older = 0;
    for (uint32_t run = oldest_run; run != 0; run = hs_runs.page[run - 1].newer, runs++) {
        const struct page *queued = &hs_runs.page[run - 1];
        check(run_state(run - 1) == RUN_FREE && queued->age == AGE_QUEUED, "a run in the age queue is free");
        check(queued->older == older, "the age queue is linked both ways");
        pages += queued->dirty;
        older = run;
    }
    check(newest_run == older, "the newest run ends the age queue");
    check(pages == hs_queued_pages, "queued pages == committed pages of the runs in the age queue");
    for (uint32_t first = 0; first < hs_runs.top; first += hs_runs.page[first].length)
        runs -= run_state(first) == RUN_FREE && hs_runs.page[first].age == AGE_QUEUED;
    check(runs == 0, "every free run that says so is in the age queue");
}

void ages_reset(void)
{
    oldest_run = newest_run = 0;
    set_queued(0);
}
