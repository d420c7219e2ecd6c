/* The counters of the process and all names, and the greatest sum of committed bytes. */
#include "2_system/counters.h"

struct heap_count hs_count;
uint64_t hs_huge_committed;
uint64_t hs_queued_pages;

const char *const hs_heap_counter[] = {
    "superslabs", "slabs", "releases", "released_bytes", "heaps", "adoptions",
    "run_reuse", "run_grow", "run_extend", "run_free", "run_hit", "run_spill", "huge_map", "huge_unmap", "huge_remap",
    "realloc_in_place", "realloc_moved", "committed", "committed_peak", "learned_up", "learned_down", "huge_reuse",
    "background_steps", "background_blocks", "superslabs_unmapped", "superslabs_reused",
    "superslabs_late", "hit2", "hit3", "sampled", "sampled_bytes", "sampled_freed",
};
const char *const hs_class_counter[] = {
    "hit0", "hit1", "refill", "refilled", "push", "spill", "flush", "flushed", "direct",
    "carve", "reuse", "acquire", "retire", "remote", "drained", "transfer_in", "transfer_out", "transfer_back",
};
_Static_assert(sizeof hs_heap_counter / sizeof hs_heap_counter[0] == HEAP_COUNTERS, "a name per counter");
_Static_assert(sizeof hs_class_counter / sizeof hs_class_counter[0] == CLASS_COUNTERS, "a name per counter");

void count_committed(int64_t by)
{
    uint64_t now = __atomic_add_fetch(&hs_count.committed, (uint64_t)by, __ATOMIC_RELAXED);
    uint64_t peak = __atomic_load_n(&hs_count.committed_peak, __ATOMIC_RELAXED);
    while (by > 0 && now > peak &&
           !__atomic_compare_exchange_n(&hs_count.committed_peak, &peak, now, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}
