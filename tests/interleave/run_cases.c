/* What a free reads of a run without the large lock, and who may free it (runtime/heap/7_large/runs.c, run_span.h, run_pages.c). */
#include "explore.h"
#include "3_records/heap.h"
#include "2_system/lock.h"
#include "2_system/os.h"
#include "7_large/run_pages.h"
#include "7_large/runs.h"

enum { PAGES = 4 };

static struct page pages[PAGES];
static _Alignas(64) char span[PAGES * PAGE_BYTES];
static struct lock large;
static uint64_t handed, claimed[THREADS];

/* Nothing here depends on the sum. */
void count_committed(int64_t by)
{
    (void)by;
}

/* The span is writable: nothing asks the system. */
__thread bool os_refused;
bool os_sparing;

bool os_commit_all(const struct os_part *part, size_t parts)
{
    (void)part;
    (void)parts;
    return false;
}

bool os_commit(void *start, size_t bytes)
{
    (void)start;
    (void)bytes;
    return false;
}

static void setup(void)
{
    static char names[PAGES][2][16] = { { "length 0", "state 0" }, { "length 1", "state 1" }, { "length 2", "state 2" },
                                        { "length 3", "state 3" } };
    hs_runs = (struct run_span){ .start = span, .pages = PAGES, .writable = PAGES, .page = pages };
    share("start", &hs_runs.start, sizeof hs_runs.start);
    share("pages", &hs_runs.pages, sizeof hs_runs.pages);
    share("writable", &hs_runs.writable, sizeof hs_runs.writable);
    share("sparing", &os_sparing, sizeof os_sparing);
    share("top", &hs_runs.top, sizeof hs_runs.top);
    share("page", &hs_runs.page, sizeof hs_runs.page);
    for (int page = 0; page < PAGES; page++) {
        share(names[page][0], &pages[page].length, sizeof pages[page].length);
        share(names[page][1], &pages[page].state, sizeof pages[page].state);
    }
    share("lock", &large, sizeof large);
    share("handed", &handed, sizeof handed);
    share("claimed", claimed, sizeof claimed);
}

/* A run of one page at the top, as runs_grow makes one. */
static void *grow(void)
{
    lock_acquire(&large);
    uint32_t first = hs_runs.top;
    expect(pages_rise(first, first + 1), "the span is used up");
    pages[first].length = 1;
    set_run_state(first, RUN_USED);
    lock_release(&large);
    return span + (size_t)first * PAGE_BYTES;
}

/* The claimed run is free again, under the lock; its record is the large lock's. */
static void give_back(void *block)
{
    lock_acquire(&large);
    pages[runs_number(block)].length = PAGES;
    set_run_state((uint32_t)runs_number(block), RUN_FREE);
    lock_release(&large);
}

/* Thread 0's run is freed by thread 1, while thread 2 makes one of its own and asks about an address that is no block. */
static void hand_on(int thread)
{
    if (thread == 0) {
        uint64_t block = (uint64_t)grow();
        __atomic_store_n(&handed, block, __ATOMIC_RELEASE);
    } else if (thread == 1) {
        void *block = (void *)__atomic_load_n(&handed, __ATOMIC_ACQUIRE);
        if (block != NULL) {
            claimed[1] = runs_claim(block);
            expect(claimed[1] == 1, "a run is not found by the thread that was given it");
            give_back(block);
        }
    } else {
        expect(runs_pages(span + (PAGES - 1) * PAGE_BYTES) == 0, "a page above the top is a block");
        expect(runs_pages(grow()) == 1, "a run is not found by the thread that made it");
    }
}

/* The same run freed twice at once: one free has it, the other is told so. */
static void free_twice(int thread)
{
    claimed[thread] = runs_claim(span);
    if (claimed[thread] > 0)
        give_back(span);
}

static void setup_used(void)
{
    setup();
    hs_runs.top = 1;
    pages[0].length = 1;
    pages[0].state = RUN_USED;
}

/* Thread 0 looks behind its run, as a hardened copy does, while thread 1 makes one there. */
static void look_behind(int thread)
{
    if (thread == 0) {
        uint32_t top = __atomic_load_n(&hs_runs.top, __ATOMIC_ACQUIRE);
        expect(top == 1 || run_state(1) != RUN_NONE, "a run begins where none seems to");
    } else {
        grow();
    }
}

static uint64_t claims(void)
{
    return claimed[0] + claimed[1] + claimed[2];
}

static uint64_t claimed_once(void)
{
    expect(claims() == 1, "a run is freed twice");
    return claims();
}

static const struct explored all[] = {
    { "run_handed_on", 3, 0, setup, hand_on, 0, claims },
    { "run_looked_behind", 2, 0, setup_used, look_behind, 0, claims },
    { "run_freed_twice", 3, 0, setup_used, free_twice, 0, claimed_once },
    { 0 },
};
const struct explored *const cases = all;
