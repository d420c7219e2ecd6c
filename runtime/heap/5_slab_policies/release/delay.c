/* Release "delay": the pages of a slab or a run that has been empty for RELEASE_DELAY events, bytes or milliseconds go back. */
#include "5_slab_policies/release/queue.h"
#include "5_slab_policies/release/release.h"

/* `gone` of this event went before. */
static bool goes(uint64_t stamp, uint32_t gone)
{
    return gone < RELEASE_MOST && release_clock() - stamp >= RELEASE_DELAY;
}

void release_retired(struct slab *slab)
{
    release_freed(slab->committed);
    if (slab->committed == 0)
        return;
    slab->emptied = release_clock();
    queue_join(slab);
}

struct slab *release_due(uint32_t gone)
{
    struct slab *due = oldest_slab;
    if (due == NULL || !goes(due->emptied, gone))
        return NULL;
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

bool release_large_look_due(void)
{
    return false;
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
    release_reset_clock();
}
