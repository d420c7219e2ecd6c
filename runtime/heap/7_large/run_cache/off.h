/* Run cache "off": no run is kept. Adds nothing to struct heap. */
#pragma once

static inline void *run_cache_take(struct heap *heap, size_t *pages)
{
    return NULL;
}

static inline bool run_cache_claims_heap(void)
{
    return false;
}

static inline bool run_cache_fits(const struct heap *heap, size_t pages)
{
    return false;
}

static inline bool run_cache_make_room(struct heap *heap, size_t pages)
{
    return false;
}

static inline void run_cache_put(struct heap *heap, void *block, size_t pages)
{
}

static inline void run_cache_share(struct heap *heap)
{
}

static inline bool run_cache_lend(struct heap *heap)
{
    return false;
}

static inline void run_cache_empty(struct heap *heap)
{
}

static inline void run_cache_spill(struct heap *heap)
{
}

static inline struct run_cached run_cache_check(struct heap *heap)
{
    return (struct run_cached){ 0 };
}

static inline uint64_t run_cache_hits(const struct heap *heap)
{
    return 0;
}

#define RUN_CACHE_VIEW
