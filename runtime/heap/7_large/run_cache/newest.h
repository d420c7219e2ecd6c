/* Run cache "newest": what a heap's thread freed last waits for a request of as many pages, or of a few less. Adds to struct
 * heap: how many runs it has and their pages, the most pages that it may have, its hits, and its runs. */
#pragma once

#include "3_records/heap.h"
#include "7_large/run_span.h"

enum { CACHED_LENGTH = 32 }; /* where the pages of a cached run stand in its word, above its first page */

bool run_cache_claims_heap(void);
COLD void run_cache_reset(void);
bool run_cache_make_room(struct heap *heap, size_t pages);

static inline void *cached_block(uint64_t run)
{
    return hs_runs.start + (size_t)(uint32_t)run * PAGE_BYTES;
}

static inline void uncache_at(struct heap_caches *cache, size_t index)
{
    size_t last = cache->cached_runs - 1;
    word_subtract(&cache->cached_runs, 1);
    word_subtract(&cache->cached_pages, (uint32_t)(cache->cached_run[index] >> CACHED_LENGTH));
    for (; index < last; index++)
        cache->cached_run[index] = cache->cached_run[index + 1];
}

static inline void *run_cache_take(struct heap *heap, size_t *pages)
{
    struct heap_caches *cache = &heap->caches;
    uint64_t least = *pages << CACHED_LENGTH; /* words of runs of *pages pages: no page has so high a number */
    uint64_t words = (*pages * RUN_CACHE_SLACK_PERCENT / 100 + 1) << CACHED_LENGTH;
    for (size_t index = cache->cached_runs; index-- > 0;) {
        uint64_t run = cache->cached_run[index];
        if (run - least >= words)
            continue;
        *pages = run >> CACHED_LENGTH;
        uncache_at(cache, index);
        set_run_state((uint32_t)run, RUN_USED);
        count_own(&cache->run_hits, 1);
        return cached_block(run);
    }
    return NULL;
}

static inline bool run_cache_fits(const struct heap *heap, size_t pages)
{
    const struct heap_caches *cache = &heap->caches;
    return cache->cached_runs < RUN_CACHE_SLOTS && cache->cached_pages + pages <= cache->cached_most;
}

static inline void run_cache_put(struct heap *heap, void *block, size_t pages)
{
    struct heap_caches *cache = &heap->caches;
    cache->cached_run[cache->cached_runs] = (uint64_t)pages << CACHED_LENGTH | run_number(block);
    word_add(&cache->cached_runs, 1);
    word_add(&cache->cached_pages, (uint32_t)pages);
}

void run_cache_share(struct heap *heap);
bool run_cache_lend(struct heap *heap);
void run_cache_empty(struct heap *heap);
void run_cache_spill(struct heap *heap);
COLD struct run_cached run_cache_check(struct heap *heap);

static inline uint64_t run_cache_hits(const struct heap *heap)
{
    return __atomic_load_n(&heap->caches.run_hits, __ATOMIC_RELAXED);
}

#define RUN_CACHE_VIEW NUMBER("heap.run_hits", offsetof(struct heap, caches.run_hits))
