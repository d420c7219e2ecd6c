/* Run cache "newest": a heap keeps its thread's freed runs, the oldest first, until they are too many or too large. */
#include "7_large/run_cache/run_cache.h"

#include "2_system/locks.h"
#include "5_slab_policies/release/release.h"
#include "7_large/run_span.h"
#include "7_large/runs.h"

static uint32_t freed_alone; /* runs, by threads without a heap */

bool run_cache_claims_heap(void)
{
    if (__atomic_load_n(&freed_alone, __ATOMIC_RELAXED) >= RUN_CACHE_ALONE)
        return true;
    __atomic_fetch_add(&freed_alone, 1, __ATOMIC_RELAXED);
    return false;
}

void run_cache_reset(void)
{
    freed_alone = 0;
}

static void spill_oldest(struct heap_caches *cache)
{
    void *block = cached_block(cache->cached_run[0]);
    uncache_at(cache, 0);
    count_own(&hs_count.run_spill, 1);
    runs_free(block);
}

/* All caches have their share of the heap's bytes together, and each of them its part. Most programs ask for few runs: what a
 * heap kept of these would be memory that others lack. */
static uint64_t most_bytes(struct heap_caches *cache)
{
    if (RUN_CACHE_AFTER > 0 && cache->share_looks < RUN_CACHE_AFTER) {
        cache->share_looks++;
        return 0;
    }
    if (RUN_CACHE_SHARE_PERCENT == 0)
        return RUN_CACHE_BYTES;
    uint64_t share = __atomic_load_n(&hs_count.committed, __ATOMIC_RELAXED) / 100 * RUN_CACHE_SHARE_PERCENT;
    share = share > RUN_CACHE_FLOOR_BYTES ? share : RUN_CACHE_FLOOR_BYTES;
    uint64_t part = share / __atomic_load_n(&hs_count.heaps, __ATOMIC_RELAXED);
    part = part > RUN_CACHE_LEAST_BYTES ? part : RUN_CACHE_LEAST_BYTES;
    return part < RUN_CACHE_BYTES ? part : RUN_CACHE_BYTES;
}

static void look_at_share(struct heap_caches *cache)
{
    cache->cached_most = (uint32_t)(most_bytes(cache) / PAGE_BYTES);
}

bool run_cache_make_room(struct heap *heap, size_t pages)
{
    struct heap_caches *cache = &heap->caches;
    if (heap == &hs_no_heap)
        return false;
    look_at_share(cache);
    if (pages > cache->cached_most)
        return false;
    if (run_cache_fits(heap, pages))
        return true;
    hs_lock_large();
    count_locks(LOCKS_RUN_SPILL);
    while (!run_cache_fits(heap, pages))
        spill_oldest(cache);
    hs_unlock_large();
    return true;
}

void run_cache_share(struct heap *heap)
{
    struct heap_caches *cache = &heap->caches;
    if (heap == &hs_no_heap)
        return;
    look_at_share(cache);
    while (cache->cached_pages > cache->cached_most)
        spill_oldest(cache);
}

bool run_cache_lend(struct heap *heap)
{
    struct heap_caches *cache = &heap->caches;
    bool lends = cache->cached_runs > 0;
    while (cache->cached_runs > 0)
        spill_oldest(cache);
    return lends;
}

void run_cache_empty(struct heap *heap)
{
    if (heap->caches.cached_runs == 0)
        return;
    hs_lock_large();
    count_locks(LOCKS_RUN_SPILL);
    run_cache_lend(heap);
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
        check(runs_pages(cached_block(cache->cached_run[index])) == 0, "a cached run is no block");
        pages += (uint32_t)(cache->cached_run[index] >> CACHED_LENGTH);
    }
    check(cache->cached_runs <= RUN_CACHE_SLOTS, "at most RUN_CACHE_SLOTS runs in a run cache");
    check(cache->cached_pages == pages, "pages == sum of the lengths in a run cache");
    check((size_t)pages * PAGE_BYTES <= RUN_CACHE_BYTES, "a run cache holds at most RUN_CACHE_BYTES");
    return (struct run_cached){ cache->cached_runs, pages };
}
