/* Runs that a heap's thread keeps after it freed them (docs/machine.md section 8). By the heap's own thread, without the
 * large lock, which is taken here where runs are given up. */
#pragma once

#include "1_base/cold.h"

#include <stdbool.h>
#include <stddef.h>

struct heap;

void *run_cache_take(struct heap *heap, size_t pages); /* the newest run of `pages` pages, to the program; NULL if there is none */
bool run_cache_keeps(const struct heap *heap, size_t pages); /* would a run so long go to its cache? */
void run_cache_put(struct heap *heap, void *block, size_t pages); /* a claimed run that the cache keeps; the oldest make room */
void run_cache_empty(struct heap *heap); /* the oldest first */
void run_cache_spill(struct heap *heap); /* the oldest, while the limit on memory is near */
COLD void run_cache_check(struct heap *heap);
