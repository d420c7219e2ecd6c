/* Counters of docs/machine.md, in its order; each has one writer unless it says otherwise, and any reader. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "1_base/arch/arch.h"
#include "1_base/check.h"
#include "1_base/counting/counting.h"
#include "plan.h"

/* Does this build count the hit path? */
enum { COUNTS_HITS = COUNTING_HITS || HEAPSMITH_CHECKED };

/* Per class and heap. Written by the heap's thread; `remote` by any thread that frees into it or has no heap. Those of
 * hs_no_heap are written under the store's lock, `direct` atomically. */
struct class_count {
    uint64_t hit0, hit1, refill, refilled, push, spill, flush, flushed, direct;
    uint64_t carve, reuse, acquire, retire, remote, drained, transfer_in, transfer_out, transfer_back;
};

/* Of the whole process. superslabs*, slabs, heaps and adoptions under the pool lock, run_* and huge_* under the large lock but
 * for run_hit, which each heap counts by itself (run_cache.h): here it stays 0. The rest is atomic. */
struct heap_count {
    uint64_t superslabs, slabs, releases, released_bytes, heaps, adoptions;
    uint64_t run_reuse, run_grow, run_extend, run_free, run_hit, run_spill, huge_map, huge_unmap, huge_remap;
    uint64_t realloc_in_place, realloc_moved;
    uint64_t committed, committed_peak;
    uint64_t learned_up, learned_down;
    uint64_t huge_reuse;
    uint64_t background_steps, background_blocks;
    uint64_t superslabs_unmapped, superslabs_reused;
    uint64_t superslabs_late;
    uint64_t hit2, hit3; /* atomic: of all classes */
    uint64_t sampled, sampled_bytes, sampled_freed;
};

extern struct heap_count hs_count;

/* The counters' names, in the order of their structs. */
enum {
    HEAP_COUNTERS = sizeof(struct heap_count) / sizeof(uint64_t),
    CLASS_COUNTERS = sizeof(struct class_count) / sizeof(uint64_t),
};
extern const char *const hs_heap_counter[HEAP_COUNTERS];
extern const char *const hs_class_counter[CLASS_COUNTERS];

/* Some builds do not count the hit path. */
static inline bool class_counted(size_t counter)
{
    size_t offset = counter * sizeof(uint64_t);
    return COUNTS_HITS || (offset != offsetof(struct class_count, hit0) && offset != offsetof(struct class_count, push));
}

#include HEAPS_COUNTS

/* Words that one thread at a time writes while others may read them (mallinfo, reports, at any moment): each of its updates is
 * one instruction on an aligned word, so that a reader gets the value before it or after it. That is a relaxed load and a
 * relaxed store, of which gcc would make three instructions. */
static inline void word_add(uint32_t *word, uint32_t by)
{
    arch_add_32(word, by);
}

static inline void word_subtract(uint32_t *word, uint32_t by)
{
    arch_subtract_32(word, by);
}

static inline void word_set(uint32_t *word, uint32_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

static inline uint32_t word_look(const uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

/* Adds to a counter that several threads may write; order does not matter, only the sum. */
static inline void count_shared(uint64_t *counter, uint64_t by)
{
    __atomic_fetch_add(counter, by, __ATOMIC_RELAXED);
}

/* Counts the hit path, in the checked build and with counting "everything". */
static inline void count_checked(uint64_t *counter)
{
    if (COUNTS_HITS)
        count_own(counter, 1);
}

extern uint64_t hs_huge_committed; /* of the committed bytes, those of huge blocks and of mappings that wait */
extern uint64_t hs_queued_pages; /* committed ones of the free runs that wait in their age queue */

/* Bytes newly committed, or given back (negative); keeps the peak. */
void count_committed(int64_t by);
