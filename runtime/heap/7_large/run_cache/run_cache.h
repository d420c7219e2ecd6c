/* Runs that a heap's thread keeps after it freed them (docs/machine-rooms.md). By the heap's own thread, without the
 * large lock, which is taken here where runs are given up, but for the two that are called under it.
 *
 * run_cache_take: the newest run of *pages pages, or a few more, to the program; then *pages is its length. NULL: there is none.
 * run_cache_claims_heap: a thread without a heap frees a run: is it to get one first?
 * run_cache_fits: has it room for a run so long, by its last look at its share? Never without a heap.
 * run_cache_make_room: the oldest leave, by its share of now; false: it has no room for a run so long.
 * run_cache_put: a claimed run goes where there is room.
 * run_cache_share (under the large lock): the oldest leave while the cache has more than its share.
 * run_cache_lend (likewise): all runs leave, since no bin serves; false if there was none.
 * run_cache_empty: the oldest first.
 * run_cache_spill: the oldest, while the limit on memory is near.
 * run_cache_check (checked build): what it holds.
 * run_cache_hits: its runs that went to the program. By any thread.
 * RUN_CACHE_VIEW: what `heapsmith top` must know to ask the same. */
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
