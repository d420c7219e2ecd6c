/* The age queue of empty slabs with committed pages, for the release policy that keeps one: FIFO by retirement; under the
 * pool lock. */
#pragma once

#include "3_records/span.h"

static struct slab *oldest_slab; /* NULL: the queue is empty */
static struct slab *newest_slab;
static size_t aging_bytes; /* sum of `committed` over its slabs; also read without the lock */

static void set_aging(size_t bytes)
{
    __atomic_store_n(&aging_bytes, bytes, __ATOMIC_RELAXED);
}

static void queue_join(struct slab *slab)
{
    slab->aging = true;
    slab->newer = NULL;
    slab->older = newest_slab;
    if (newest_slab != NULL)
        newest_slab->newer = slab;
    else
        oldest_slab = slab;
    newest_slab = slab;
    set_aging(aging_bytes + slab->committed);
}

static void queue_leave(struct slab *slab)
{
    slab->aging = false;
    *(slab->older != NULL ? &slab->older->newer : &oldest_slab) = slab->newer;
    *(slab->newer != NULL ? &slab->newer->older : &newest_slab) = slab->older;
    set_aging(aging_bytes - slab->committed);
}

static void check_queue(void)
{
    size_t bytes = 0;
    for (const struct slab *slab = oldest_slab; slab != NULL; slab = slab->newer) {
        check(slab->pooled && slab->aging, "a slab in the age queue is in a pool");
        bytes += slab->committed;
    }
    check(bytes == aging_bytes, "aging_bytes == sum of committed over the age queue");
}

static void queue_reset(void)
{
    oldest_slab = newest_slab = NULL;
    aging_bytes = 0;
}
