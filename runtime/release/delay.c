/* Release "delay": the pages of a slab or a run that has been empty for RELEASE_DELAY events, or bytes, go back. */
#include "release/queue.h"
#include "release/release.h"

/* Slabs retired, runs freed and huge blocks unmapped, or their bytes. They come under different locks. */
static uint64_t now;
static uint32_t slabs_gone; /* since a slab was retired last; under the pool lock */

uint64_t release_clock(void)
{
    return __atomic_load_n(&now, __ATOMIC_RELAXED);
}

void release_freed(size_t bytes)
{
    __atomic_fetch_add(&now, RELEASE_DELAY_IN_BYTES ? bytes : 1, __ATOMIC_RELAXED);
}

/* `gone` of this event went before. */
static bool goes(uint64_t stamp, uint32_t gone)
{
    return gone < RELEASE_MOST && release_clock() - stamp >= RELEASE_DELAY;
}

void release_retired(struct slab *slab)
{
    release_freed(slab->committed);
    slabs_gone = 0;
    if (slab->committed == 0)
        return;
    slab->emptied = release_clock();
    queue_join(slab);
}

struct slab *release_due(void)
{
    struct slab *due = oldest_slab;
    if (due == NULL || !goes(due->emptied, slabs_gone))
        return NULL;
    slabs_gone++;
    queue_leave(due);
    return due;
}

void release_reused(struct slab *slab)
{
    if (slab->aging)
        queue_leave(slab);
}

void release_needed_runs(size_t bytes)
{
}

bool release_run_goes(uint64_t stamp, size_t bytes, uint32_t gone)
{
    return goes(stamp, gone);
}

void release_check(void)
{
    check_queue();
    for (const struct slab *slab = oldest_slab; slab != NULL; slab = slab->newer)
        check(slab->emptied <= release_clock() && (slab->newer == NULL || slab->emptied <= slab->newer->emptied),
              "the age queue is in the order of the clock");
}

void release_reset(void)
{
    queue_reset();
}
