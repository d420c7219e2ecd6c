/* The run cache of a heap: its thread's freed runs, the oldest first, until they are too many or too large. */
#include "7_large/run_cache.h"

#include "3_records/heap.h"
#include "2_system/locks.h"
#include "5_slab_policies/release/release.h"
#include "7_large/runs.h"

#include <string.h>

static void remove_at(struct run_cache *cache, uint32_t index)
{
    uint32_t behind = cache->held - index - 1;
    cache->pages -= cache->length[index];
    memmove(&cache->length[index], &cache->length[index + 1], behind * sizeof cache->length[0]);
    memmove(&cache->run[index], &cache->run[index + 1], behind * sizeof cache->run[0]);
    cache->held--;
}

void *run_cache_take(struct heap *heap, size_t pages)
{
    struct run_cache *cache = &heap->runs;
    for (uint32_t index = cache->held; index-- > 0;) {
        if (cache->length[index] != pages)
            continue;
        void *block = cache->run[index];
        remove_at(cache, index);
        runs_unclaim(block);
        count_shared(&hs_count.run_hit, 1);
        return block;
    }
    return NULL;
}

bool run_cache_keeps(const struct heap *heap, size_t pages)
{
    return heap != &hs_no_heap && pages * PAGE_BYTES <= RUN_CACHE_BYTES;
}

static void spill_oldest(struct run_cache *cache)
{
    runs_free(cache->run[0]);
    remove_at(cache, 0);
    count_own(&hs_count.run_spill, 1);
}

static bool has_room(const struct run_cache *cache, size_t pages)
{
    return cache->held < RUN_CACHE_SLOTS && (cache->pages + pages) * PAGE_BYTES <= RUN_CACHE_BYTES;
}

void run_cache_put(struct heap *heap, void *block, size_t pages)
{
    struct run_cache *cache = &heap->runs;
    if (!has_room(cache, pages)) {
        hs_lock_large();
        while (!has_room(cache, pages))
            spill_oldest(cache);
        hs_unlock_large();
    }
    cache->length[cache->held] = (uint32_t)pages;
    cache->run[cache->held++] = block;
    cache->pages += (uint32_t)pages;
}

void run_cache_empty(struct heap *heap)
{
    struct run_cache *cache = &heap->runs;
    if (cache->held == 0)
        return;
    hs_lock_large();
    while (cache->held > 0)
        spill_oldest(cache);
    hs_unlock_large();
}

void run_cache_spill(struct heap *heap)
{
    struct run_cache *cache = &heap->runs;
    hs_lock_large();
    while (cache->held > 0 && release_near_limit())
        spill_oldest(cache);
    hs_unlock_large();
}

void run_cache_check(struct heap *heap)
{
    const struct run_cache *cache = &heap->runs;
    uint32_t pages = 0;
    for (uint32_t index = 0; index < cache->held; index++) {
        check(runs_pages(cache->run[index]) == 0, "a cached run is no block");
        pages += cache->length[index];
    }
    check(cache->held <= RUN_CACHE_SLOTS, "held <= RUN_CACHE_SLOTS in a run cache");
    check(cache->pages == pages, "pages == sum of the lengths in a run cache");
    check((size_t)pages * PAGE_BYTES <= RUN_CACHE_BYTES, "a run cache holds at most RUN_CACHE_BYTES");
}
