/* Runs that a heap's thread keeps after it freed them (docs/machine.md section 8). By the heap's own thread, without the
 * large lock, which is taken here where runs are given up.
 *
 * run_cache_take: the newest run of `pages` pages, to the program; NULL if there is none.
 * run_cache_keeps: would a run so long go to its cache?
 * run_cache_put: a claimed run that the cache keeps; the oldest make room.
 * run_cache_empty: the oldest first.
 * run_cache_spill: the oldest, while the limit on memory is near.
 * run_cache_check (checked build): what it holds. */
#pragma once

#include "1_base/cold.h"
#include "plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap;

struct run_cached {
    uint32_t runs;
    uint32_t pages; /* of all of them */
};

#include RUN_CACHE_ROW
