/* Sums over all heaps, without a lock: what reports and glibc's questions about malloc have in common. Async-signal-safe. */
#pragma once

#include "1_base/cold.h"

#include <stddef.h>
#include <stdint.h>

#include "2_system/counters.h"

/* One class, summed over heaps. Other threads' heaps are read as they happen to be, one after the other: a block that moves
 * meanwhile may be missed where it came from and where it went, so that a sum is below 0 for once. */
struct tally {
    int64_t fronts;  /* blocks in fronts */
    int64_t parked;  /* blocks that left their slab and are not the program's: those, in quarantines, the transfer cache, on remote lists */
    int64_t emptied; /* slabs that the class gave up, less those it took */
};

static inline uint64_t tally_look(const uint64_t *counter)
{
    return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

static inline size_t at_least_none(int64_t sum)
{
    return sum > 0 ? (size_t)sum : 0;
}

COLD struct tally tally_class(unsigned class);
/* A counter of the process, by its place in hs_heap_counter. */
COLD uint64_t heap_counter(size_t index);
/* The counters of a class, by their places in hs_class_counter. */
COLD void class_counters(unsigned class, uint64_t sum[CLASS_COUNTERS]);
