/* Release "budget": empty slabs keep so many bytes of committed pages together, free runs so many; the oldest go. */
#include "release/release.h"

/* The age queue: empty slabs with committed pages, FIFO by retirement; under the pool lock.
 * aging_bytes == sum of `committed` over its slabs. */
static struct slab *oldest_slab;
static struct slab *newest_slab;
static size_t aging_bytes;

/* Both grow as pages that went back are needed again. */
static size_t slab_budget = SLAB_BUDGET_BYTES; /* under the pool lock */
static size_t run_budget = RUN_BUDGET_BYTES;   /* under the large lock */

static void grow(size_t *budget, size_t needed_again)
{
    size_t room = *budget < MOST_BUDGET_BYTES ? MOST_BUDGET_BYTES - *budget : 0;
    *budget += needed_again <= room / BUDGET_GROWTH ? needed_again * BUDGET_GROWTH : room;
}

static void join(struct slab *slab)
{
    slab->aging = true;
    slab->newer = NULL;
    slab->older = newest_slab;
    if (newest_slab != NULL)
        newest_slab->newer = slab;
    else
        oldest_slab = slab;
    newest_slab = slab;
    aging_bytes += slab->committed;
}

static void leave_queue(struct slab *slab)
{
    slab->aging = false;
    *(slab->older != NULL ? &slab->older->newer : &oldest_slab) = slab->newer;
    *(slab->newer != NULL ? &slab->newer->older : &newest_slab) = slab->older;
    aging_bytes -= slab->committed;
}

void release_retired(struct slab *slab)
{
    if (slab->committed > 0)
        join(slab);
}

struct slab *release_due(void)
{
    if (aging_bytes <= slab_budget)
        return NULL;
    struct slab *due = oldest_slab;
    leave_queue(due);
    return due;
}

void release_reused(struct slab *slab)
{
    if (slab->aging)
        leave_queue(slab);
    else if (slab->committed == 0)
        grow(&slab_budget, SLAB_BYTES);
}

void release_needed_runs(size_t bytes)
{
    grow(&run_budget, bytes);
}

bool release_keeps_runs(size_t bytes)
{
    return bytes <= run_budget;
}

void release_check(void)
{
    size_t bytes = 0;
    for (const struct slab *slab = oldest_slab; slab != NULL; slab = slab->newer) {
        check(slab->pooled && slab->aging, "a slab in the age queue is in a pool");
        bytes += slab->committed;
    }
    check(bytes == aging_bytes, "aging_bytes == sum of committed over the age queue");
}

void release_reset(void)
{
    oldest_slab = newest_slab = NULL;
    aging_bytes = 0;
    slab_budget = SLAB_BUDGET_BYTES;
    run_budget = RUN_BUDGET_BYTES;
}
