/* Run cache "exact": a heap keeps its thread's freed runs, the oldest first, until they are too many or too large. */
#include "7_large/run_cache/run_cache.h"

#include "2_system/locks.h"
#include "5_slab_policies/release/release.h"
#include "7_large/runs.h"

#include <string.h>

static void remove_at(struct heap_caches *cache, uint32_t index)
{
    uint32_t behind = cache->cached_runs - index - 1;
    cache->cached_pages -= cache->cached_length[index];
    memmove(&cache->cached_length[index], &cache->cached_length[index + 1], behind * sizeof cache->cached_length[0]);
    memmove(&cache->cached_run[index], &cache->cached_run[index + 1], behind * sizeof cache->cached_run[0]);
    cache->cached_runs--;
}

void *run_cache_take(struct heap *heap, size_t pages)
{
    struct heap_caches *cache = &heap->caches;
    for (uint32_t index = cache->cached_runs; index-- > 0;) {
        if (cache->cached_length[index] != pages)
            continue;
        void *block = cache->cached_run[index];
        remove_at(cache, index);
        runs_unclaim(block);
        count_shared(&hs_count.run_hit, 1);
        return block;
    }
    return NULL;
}

static void spill_oldest(struct heap_caches *cache)
{
    runs_free(cache->cached_run[0]);
    remove_at(cache, 0);
    count_own(&hs_count.run_spill, 1);
}

static bool has_room(const struct heap_caches *cache, size_t pages)
{
    return cache->cached_runs < RUN_CACHE_SLOTS && (cache->cached_pages + pages) * PAGE_BYTES <= RUN_CACHE_BYTES;
}

void run_cache_put(struct heap *heap, void *block, size_t pages)
{
    struct heap_caches *cache = &heap->caches;
    if (!has_room(cache, pages)) {
        hs_lock_large();
        count_locks(LOCKS_RUN_SPILL);
        while (!has_room(cache, pages))
            spill_oldest(cache);
        hs_unlock_large();
    }
    cache->cached_length[cache->cached_runs] = (uint32_t)pages;
    cache->cached_run[cache->cached_runs++] = block;
    cache->cached_pages += (uint32_t)pages;
}

void run_cache_empty(struct heap *heap)
{
    struct heap_caches *cache = &heap->caches;
    if (cache->cached_runs == 0)
        return;
    hs_lock_large();
    count_locks(LOCKS_RUN_SPILL);
    while (cache->cached_runs > 0)
        spill_oldest(cache);
    hs_unlock_large();
}

void run_cache_spill(struct heap *heap)
{
    struct heap_caches *cache = &heap->caches;
    hs_lock_large();
    count_locks(LOCKS_LOOK);
    while (cache->cached_runs > 0 && release_near_limit())
        spill_oldest(cache);
    hs_unlock_large();
}

struct run_cached run_cache_check(struct heap *heap)
{
    const struct heap_caches *cache = &heap->caches;
    uint32_t pages = 0;
    for (uint32_t index = 0; index < cache->cached_runs; index++) {
        check(runs_pages(cache->cached_run[index]) == 0, "a cached run is no block");
        pages += cache->cached_length[index];
    }
    check(cache->cached_runs <= RUN_CACHE_SLOTS, "at most RUN_CACHE_SLOTS runs in a run cache");
    check(cache->cached_pages == pages, "pages == sum of the lengths in a run cache");
    check((size_t)pages * PAGE_BYTES <= RUN_CACHE_BYTES, "a run cache holds at most RUN_CACHE_BYTES");
    return (struct run_cached){ cache->cached_runs, pages };
}
