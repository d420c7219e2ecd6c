/* Release "budget": empty slabs keep so many bytes of committed pages together, free runs so many; the oldest go. */
#include "heap.h"

/* The age queue: empty slabs with committed pages, FIFO by retirement; under the pool lock.
 * aging_bytes == sum of `committed` over its slabs. */
static struct slab *oldest;
static struct slab *newest;
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
    slab->elder = newest;
    if (newest != NULL)
        newest->newer = slab;
    else
        oldest = slab;
    newest = slab;
    aging_bytes += slab->committed;
}

static void leave(struct slab *slab)
{
    slab->aging = false;
    *(slab->elder != NULL ? &slab->elder->newer : &oldest) = slab->newer;
    *(slab->newer != NULL ? &slab->newer->elder : &newest) = slab->elder;
    aging_bytes -= slab->committed;
}

void release_slab(struct slab *slab)
{
    if (slab->committed > 0)
        join(slab);
    while (aging_bytes > slab_budget) {
        struct slab *goes = oldest;
        leave(goes);
        if (!hs_release_slab(goes, RELEASE_LAZILY))
            break;
    }
}

void release_reused(struct slab *slab)
{
    if (slab->aging)
        leave(slab);
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
    for (const struct slab *slab = oldest; slab != NULL; slab = slab->newer) {
        check(slab->pooled && slab->aging, "a slab in the age queue is in a pool");
        bytes += slab->committed;
    }
    check(bytes == aging_bytes, "aging_bytes == sum of committed over the age queue");
}

void release_reset(void)
{
    oldest = newest = NULL;
    aging_bytes = 0;
    slab_budget = SLAB_BUDGET_BYTES;
    run_budget = RUN_BUDGET_BYTES;
}
