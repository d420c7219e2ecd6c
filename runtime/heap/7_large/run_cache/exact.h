/* Run cache "exact": what a heap's thread freed last waits for a request of as many pages. Adds to struct heap: how many runs it
 * has and their pages (pages <= RUN_CACHE_BYTES / PAGE_BYTES), and of each its length and its address. */
#pragma once

#include "3_records/heap.h"

void *run_cache_take(struct heap *heap, size_t pages);

static inline bool run_cache_keeps(const struct heap *heap, size_t pages)
{
    return heap != &hs_no_heap && pages * PAGE_BYTES <= RUN_CACHE_BYTES;
}

void run_cache_put(struct heap *heap, void *block, size_t pages);
void run_cache_empty(struct heap *heap);
void run_cache_spill(struct heap *heap);
COLD struct run_cached run_cache_check(struct heap *heap);
