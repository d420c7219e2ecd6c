/* Release "budget": empty slabs together keep as many committed bytes as their budget, and so do free runs; the oldest go. */
#include "5_slab_policies/release/queue.h"
#include "5_slab_policies/release/release.h"

/* Both budgets grow as pages that went back are needed again. */
static size_t slab_budget = SLAB_BUDGET_BYTES; /* under the pool lock */
static size_t run_budget = RUN_BUDGET_BYTES;   /* under the large lock */

/* The most committed bytes while nothing waited, with four times what was needed again. Of two changes at once one may be
 * lost. */
static uint64_t peak_left;
static uint64_t peak_mark; /* from here on the heap nears its peak */

static void set_peak(uint64_t bytes)
{
    __atomic_store_n(&peak_left, bytes, __ATOMIC_RELAXED);
    __atomic_store_n(&peak_mark, bytes * PEAK_PERCENT / 100, __ATOMIC_RELAXED);
}

static void grow(size_t *budget, size_t needed_again)
{
    if (PEAK_PERCENT > 0)
        set_peak(__atomic_load_n(&peak_left, __ATOMIC_RELAXED) + BUDGET_GROWTH * (uint64_t)needed_again);
    size_t room = *budget < MOST_BUDGET_BYTES ? MOST_BUDGET_BYTES - *budget : 0;
    *budget += needed_again <= room / BUDGET_GROWTH ? needed_again * BUDGET_GROWTH : room;
}

static uint64_t share_peak; /* the most committed bytes in use that were seen; one of two at once may be lost */
uint64_t hs_share_waited;
static size_t share_seen; /* what waited in both queues at the last miss that counted */
static bool share_gave; /* it gave back by its share since it rose last */
static uint64_t share_learned; /* the patience that it learned from that */

static size_t aging_run_bytes(void)
{
    return PAGE_BYTES * __atomic_load_n(&hs_queued_pages, __ATOMIC_RELAXED);
}

static size_t aging_slab_bytes(void)
{
    return __atomic_load_n(&aging_bytes, __ATOMIC_RELAXED);
}

/* What both spans have committed and does not wait. Threads may read it late. */
static uint64_t bytes_that_serve(void)
{
    uint64_t committed = __atomic_load_n(&hs_count.committed, __ATOMIC_RELAXED);
    uint64_t others = aging_run_bytes() + aging_slab_bytes() + __atomic_load_n(&hs_huge_committed, __ATOMIC_RELAXED);
    return committed > others ? committed - others : 0;
}

/* How many bytes a heap waits. A heap that rises and falls again and again needs the memory of its peak each
 * time, so it learns to wait for more than what a fall from half of its peak frees. */
static uint64_t patience(void)
{
    uint64_t most = __atomic_load_n(&share_peak, __ATOMIC_RELAXED), least = SHARE_WAIT_BYTES;
    uint64_t learned = __atomic_load_n(&share_learned, __ATOMIC_RELAXED);
    if (SHARE_WAIT_PERCENT > 0 && most * SHARE_WAIT_PERCENT / 100 < least)
        least = most * SHARE_WAIT_PERCENT / 100;
    if (least < SHARE_WAIT_BYTES / SHARE_WAIT_PARTS)
        least = SHARE_WAIT_BYTES / SHARE_WAIT_PARTS;
    return least + (learned < most / SHRUNK ? learned : most / SHRUNK);
}

static void rises(void)
{
    __atomic_store_n(&hs_share_waited, 0, __ATOMIC_RELAXED);
    if (!__atomic_load_n(&share_gave, __ATOMIC_RELAXED))
        return;
    __atomic_store_n(&share_gave, false, __ATOMIC_RELAXED);
    uint64_t learned = __atomic_load_n(&share_learned, __ATOMIC_RELAXED);
    __atomic_store_n(&share_learned, learned + SHARE_LESSON_BYTES, __ATOMIC_RELAXED);
}

/* Has the heap shrunk, and was it patient since? */
static bool shrunk_for_long(uint64_t used)
{
    uint64_t peak = __atomic_load_n(&share_peak, __ATOMIC_RELAXED);
    if (used > peak)
        __atomic_store_n(&share_peak, peak = used, __ATOMIC_RELAXED);
    if (SHRUNK * used < peak)
        return __atomic_load_n(&hs_share_waited, __ATOMIC_RELAXED) >= patience();
    rises();
    return false;
}

static bool over_share(size_t bytes, size_t least, uint64_t used)
{
    return bytes > least && 100 * (uint64_t)bytes > SHARE_PERCENT * used;
}

static bool any_over_share(uint64_t used)
{
    return over_share(aging_slab_bytes(), SHARE_SLAB_BYTES, used) || over_share(aging_run_bytes(), SHARE_RUN_BYTES, used);
}

/* When no queue is over its share any more, the heap's next peak begins. */
static bool exceeds_share(size_t bytes, size_t least)
{
    if (SHARE_PERCENT == 0)
        return false;
    uint64_t used = bytes_that_serve();
    if (!shrunk_for_long(used))
        return false;
    if (over_share(bytes, least, used)) {
        __atomic_store_n(&share_gave, true, __ATOMIC_RELAXED);
        return true;
    }
    uint64_t waited = __atomic_load_n(&hs_share_waited, __ATOMIC_RELAXED);
    if (SHARE_WAIT_BYTES > 0 && waited >= SHRUNK * patience() && !any_over_share(used)) {
        __atomic_store_n(&share_peak, used, __ATOMIC_RELAXED);
        __atomic_store_n(&hs_share_waited, 0, __ATOMIC_RELAXED);
    }
    return false;
}

/* Does the program go on without what waits? */
static void count_miss(size_t aging)
{
    uint64_t waited = __atomic_load_n(&hs_share_waited, __ATOMIC_RELAXED);
    bool drawn = aging < __atomic_load_n(&share_seen, __ATOMIC_RELAXED);
    uint64_t less = waited < SHARE_DRAWN_BYTES ? waited : SHARE_DRAWN_BYTES;
    __atomic_store_n(&hs_share_waited, drawn ? waited - less : waited + SHARE_MISS_BYTES, __ATOMIC_RELAXED);
    __atomic_store_n(&share_seen, aging, __ATOMIC_RELAXED);
}

/* While little waits, a miss does not count. */
static bool share_is_due(void)
{
    size_t slabs = aging_slab_bytes(), runs = aging_run_bytes();
    if (SHARE_WAIT_BYTES == 0 || (slabs <= SHARE_SLAB_BYTES && runs <= SHARE_RUN_BYTES))
        return false;
    count_miss(slabs + runs);
    uint64_t used = bytes_that_serve();
    if (!shrunk_for_long(used) || !any_over_share(used))
        return false;
    __atomic_store_n(&share_gave, true, __ATOMIC_RELAXED);
    return true;
}

static bool nears_peak(void)
{
    return PEAK_PERCENT > 0 &&
           __atomic_load_n(&hs_count.committed, __ATOMIC_RELAXED) > __atomic_load_n(&peak_mark, __ATOMIC_RELAXED);
}

/* Where nothing waits, the heap has its peak. */
static bool peak_is_due(void)
{
    if (!nears_peak())
        return false;
    if (aging_slab_bytes() + aging_run_bytes() > 0)
        return true;
    uint64_t committed = __atomic_load_n(&hs_count.committed, __ATOMIC_RELAXED);
    if (committed > __atomic_load_n(&peak_left, __ATOMIC_RELAXED))
        set_peak(committed);
    return false;
}

bool release_large_look_due(void)
{
    return release_near_limit() || peak_is_due();
}

bool release_look_due(void)
{
    return release_large_look_due() || share_is_due();
}

/* Near a limit on memory, and near the heap's peak, a budget counts as 0. Where nothing waits nobody asks. */
static bool exceeds(size_t bytes, size_t budget, size_t least)
{
    return bytes > budget || (bytes > 0 && (exceeds_share(bytes, least) || release_near_limit() || nears_peak()));
}

void release_retired(struct slab *slab)
{
    release_freed(slab->committed);
    if (slab->committed > 0)
        queue_join(slab);
}

struct slab *release_due(uint32_t gone)
{
    if (!exceeds(aging_bytes, slab_budget, SHARE_SLAB_BYTES))
        return NULL;
    struct slab *due = oldest_slab;
    queue_leave(due);
    return due;
}

void release_reused(struct slab *slab)
{
    if (slab->aging)
        queue_leave(slab);
    else if (slab->committed == 0)
        grow(&slab_budget, SLAB_BYTES);
}

void release_needed_runs(size_t bytes)
{
    grow(&run_budget, bytes);
}

bool release_run_goes(uint64_t stamp, size_t bytes, uint32_t gone)
{
    return exceeds(bytes, run_budget, SHARE_RUN_BYTES);
}

void release_check(void)
{
    check_queue();
}

void release_reset(void)
{
    queue_reset();
    slab_budget = SLAB_BUDGET_BYTES;
    run_budget = RUN_BUDGET_BYTES;
    share_peak = hs_share_waited = share_seen = share_learned = peak_left = peak_mark = 0;
    share_gave = false;
}
