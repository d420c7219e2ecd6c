/* Release "budget": empty slabs together keep as many committed bytes as their budget, and so do free runs; the oldest go. */
#include "5_slab_policies/release/queue.h"
#include "5_slab_policies/release/release.h"

/* Both grow as pages that went back are needed again. */
static size_t slab_budget = SLAB_BUDGET_BYTES; /* under the pool lock */
static size_t run_budget = RUN_BUDGET_BYTES;   /* under the large lock */

static void grow(size_t *budget, size_t needed_again)
{
    size_t room = *budget < MOST_BUDGET_BYTES ? MOST_BUDGET_BYTES - *budget : 0;
    *budget += needed_again <= room / BUDGET_GROWTH ? needed_again * BUDGET_GROWTH : room;
}

static uint64_t share_peak; /* the most committed bytes in use that were seen; one of two at once may be lost */

/* Has the heap shrunk, and does more wait than the design's share of what both spans have committed and in use? Threads may
 * read that late. */
static bool exceeds_share(size_t bytes, size_t least)
{
    if (SHARE_PERCENT == 0 || bytes <= least)
        return false;
    uint64_t committed = __atomic_load_n(&hs_count.committed, __ATOMIC_RELAXED);
    uint64_t others = PAGE_BYTES * __atomic_load_n(&hs_queued_pages, __ATOMIC_RELAXED);
    others += __atomic_load_n(&aging_bytes, __ATOMIC_RELAXED) + __atomic_load_n(&hs_huge_committed, __ATOMIC_RELAXED);
    uint64_t used = committed > others ? committed - others : 0, peak = __atomic_load_n(&share_peak, __ATOMIC_RELAXED);
    if (used > peak)
        __atomic_store_n(&share_peak, peak = used, __ATOMIC_RELAXED);
    return SHRUNK * used < peak && 100 * (uint64_t)bytes > SHARE_PERCENT * used;
}

/* Near a limit on memory a budget counts as 0. Where nothing waits nobody asks for the limit. */
static bool exceeds(size_t bytes, size_t budget, size_t least)
{
    return bytes > budget || exceeds_share(bytes, least) || (bytes > 0 && release_near_limit());
}

void release_retired(struct slab *slab)
{
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
    share_peak = 0;
}
