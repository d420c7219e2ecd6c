/* Counters of docs/machine.md section 10, in its order; each has one writer unless it says otherwise. */
#ifndef HEAPSMITH_COUNTERS_H
#define HEAPSMITH_COUNTERS_H

#include <stdint.h>

/* Per class and heap. Written by the heap's thread; `remote` by any thread that frees into it or has no heap. */
struct class_count {
    uint64_t hit0, hit1, refill, refilled, push, spill, flush, flushed, direct;
    uint64_t carve, reuse, acquire, retire, remote, drained;
};

/* Of the whole process. superslabs, slabs, heaps and adoptions under the pool lock, run_* and huge_* under the large lock but
 * for run_hit, which is atomic as the rest is. */
struct heap_count {
    uint64_t superslabs, slabs, releases, released_bytes, heaps, adoptions;
    uint64_t run_reuse, run_grow, run_extend, run_free, run_hit, run_spill, huge_map, huge_unmap, huge_remap;
    uint64_t realloc_in_place, realloc_moved;
    uint64_t committed, committed_peak;
};

extern struct heap_count hs_count __attribute__((visibility("hidden")));

/* Adds to a counter that several threads may write; order does not matter, only the sum. */
static inline void count_shared(uint64_t *counter, uint64_t by)
{
    __atomic_fetch_add(counter, by, __ATOMIC_RELAXED);
}

/* Bytes newly committed, or given back (negative); keeps the peak. */
void count_committed(int64_t by);

#endif
