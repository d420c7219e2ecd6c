/* The run span and the records of its pages (docs/machine.md, 'runs'). */
#pragma once

#include "1_base/cold.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan.h"

/* Of the run that begins at a page; RUN_NONE inside a run and at or above top.
 *
 * Without the large lock a thread may read the record of a run that is in use (state and length), and turn RUN_USED into
 * RUN_GONE and back: the record of a run in use is written only by the calls of its owner, that is of whoever the program
 * lets free or realloc the block now, and the program orders those calls. Others, under the lock, only ask such a record
 * whether it is RUN_FREE, and neither value is. A pointer that is no block may race with anything: it finds some state, and
 * a compare-and-swap lets one of two frees win. Whoever has a block may also ask whether a run begins behind it
 * (copies/judged.c): the first page of that run is never RUN_NONE, not even while the run changes hands. Hence every
 * access to `state` is atomic, and relaxed: it orders nothing. */
enum run_state {
    RUN_NONE,
    RUN_FREE, /* in a bin */
    RUN_USED, /* with the program */
    RUN_GONE, /* changes hands: freed by the program, in a run cache or on its way to the bins; or on its way to the program */
};

/* Where a free run stands in the age queue, and a mark of a run in use. (dirty > 0) == (age != AGE_CLEAN) */
enum run_age {
    AGE_CLEAN,
    AGE_QUEUED,
    AGE_REFUSED, /* the OS refused its pages: they stay committed, and the run is out of the queue until it is freed again */
    AGE_SAMPLED, /* a run in use is a sample (sampling): written by whoever has the block, and gone when it is freed */
    AGE_MASK = 3, /* the bits above are the mark of a sample (deletes/judged.c) */
};

/* One page. Runs are linked as 1 + first page, 0 for none (boundary tags: Knuth, TAOCP 1, 2.5).
 * No two free runs are neighbours; a run in use or gone has all its pages committed. */
struct page {
    uint32_t length;   /* at the first page of a run, and at the last page of a free run */
    uint32_t extent;   /* at the first and the last page of an extent of a free run (run_extents.h): its pages */
    uint32_t dirty;    /* free: its committed pages */
    uint32_t next;     /* free: its bin, LIFO */
    uint32_t previous; /* likewise */
    uint32_t newer;    /* AGE_QUEUED: the age queue, FIFO */
    uint32_t older;    /* likewise */
    uint8_t state;
    uint8_t age;
    bool ends_free; /* a free run ends here */
    uint8_t holds;  /* beside `extent`: the extent's kind */
};

#define HUGE_PAGE_PAGES (HUGE_PAGE_BYTES / PAGE_BYTES)
#define RUN_SPAN_PAGES (RUN_SPAN_BYTES / PAGE_BYTES)

/* The span and its table, parallel to it. top <= writable <= pages. */
struct run_span {
    char *start;
    size_t pages;      /* RUN_SPAN_PAGES; 0 before the library has started */
    size_t writable;   /* pages below, and their records, are writable; the rest is not accessible */
    bool sealed;       /* a free run may have pages that are address space only. Under the lock */
    uint32_t top;      /* pages below were handed out at least once: a high-water mark. Read without the lock too */
    struct page *page;
    uint64_t *stamp; /* of a free run's first page: when it joined the age queue, if the release policy asks (RUN_STAMP_BYTES) */
};

extern struct run_span hs_runs;

static inline enum run_state run_state(uint32_t page)
{
    return __atomic_load_n(&hs_runs.page[page].state, __ATOMIC_RELAXED);
}

static inline void set_run_state(uint32_t page, enum run_state state)
{
    __atomic_store_n(&hs_runs.page[page].state, (uint8_t)state, __ATOMIC_RELAXED);
}

/* The number of its first page. */
static inline size_t run_number(const void *block)
{
    return ((uintptr_t)block - (uintptr_t)hs_runs.start) / PAGE_BYTES;
}

/* The page that a block would begin at; UINT32_MAX if none can. */
static inline uint32_t run_first_page(const void *block)
{
    uintptr_t offset = (uintptr_t)block - (uintptr_t)hs_runs.start;
    uintptr_t end = (uintptr_t)__atomic_load_n(&hs_runs.top, __ATOMIC_ACQUIRE) * PAGE_BYTES;
    return offset < end && offset % PAGE_BYTES == 0 ? (uint32_t)(offset / PAGE_BYTES) : UINT32_MAX;
}

/* runs.h */
static inline size_t runs_claim(void *block)
{
    uint32_t first = run_first_page(block);
    uint8_t used = RUN_USED;
    if (first == UINT32_MAX || !__atomic_compare_exchange_n(&hs_runs.page[first].state, &used, RUN_GONE, false,
                                                            __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return 0;
    return hs_runs.page[first].length;
}

static inline bool run_is_sample(uint32_t page)
{
    return (hs_runs.page[page].age & AGE_MASK) == AGE_SAMPLED;
}

/* Is the block a run in use that is a sample? Only such runs have marks. */
static inline bool run_takes_mark(const void *block)
{
    uint32_t page = run_first_page(block);
    return page != UINT32_MAX && run_state(page) == RUN_USED && run_is_sample(page);
}

/* The mark of such a block, without the bits of AGE_MASK. */
static inline uint8_t run_mark(const void *block)
{
    return hs_runs.page[run_number(block)].age & ~AGE_MASK;
}

static inline void run_set_mark(const void *block, uint8_t mark)
{
    hs_runs.page[run_number(block)].age = (uint8_t)(mark | AGE_SAMPLED);
}
