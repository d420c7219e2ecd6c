/* Run cache "off": no run is kept. Adds nothing to struct heap. */
#pragma once

static inline void *run_cache_take(struct heap *heap, size_t pages)
{
    return NULL;
}

static inline bool run_cache_keeps(const struct heap *heap, size_t pages)
{
    return false;
}

static inline void run_cache_put(struct heap *heap, void *block, size_t pages)
{
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
