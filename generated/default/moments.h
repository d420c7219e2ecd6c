/* What happens in a heap, and which policies of this design act on it.
 *
 * Emitted by heapsmith 0.1.0 from design "default", content hash e72def72db02.
 * Do not edit: change the design, then run: heapsmith generate default -o DIR
 */
#pragma once

#include "1_base/text.h"
#include "3_records/heap.h"
#include "3_records/span.h"
#include "8_threads/release/looks.h"
#include "2_system/populate/growing.h"
#include "5_slab_policies/unmapping/superslabs.h"
#include "8_threads/heaps/thread.h"
#include "7_large/run_cache/newest.h"

/* Before the spans exist; again, if they could not. Under the pool lock. */
static inline void on_begin(void)
{
    heaps_begin();
}

/* The checked build has forgotten all heaps. */
static inline void on_forget(void)
{
    heaps_forget();
}

/* The spans exist, and no heap yet. Under the pool lock. */
static inline void on_start(void)
{
}

/* A new heap's rows are empty; it has no stack yet. Under the pool lock. */
static inline void on_heap_begins(struct heap *heap)
{
    (void)heap;
}

/* Its rows are done, and nobody else knows it. Under the pool lock. */
static inline void on_heap_made(struct heap *heap)
{
    (void)heap;
}

/* A new heap is this processor's for ever. Under the pool lock. */
static inline void on_processor_heap(struct heap *heap, int32_t processor)
{
    (void)heap, (void)processor;
}

/* The calling thread has a new heap, of which it has allocated nothing yet. */
static inline void on_heap_started(struct heap *heap)
{
    (void)heap;
}

/* The calling thread has a heap that was another's. */
static inline void on_heap_adopted(struct heap *heap)
{
    (void)heap;
}

/* All fronts of a heap are to be emptied, by its own thread. */
static inline void on_heap_drains(struct heap *heap)
{
    (void)heap;
}

/* A refill has filled the front, or a larger class lent a block. The heap is whole and no lock is held. */
static inline void on_front_missed(struct heap *heap, unsigned class)
{
    (void)heap, (void)class;
}

/* A front whose capacity may change has given blocks to the store, and has the freed block. */
static inline void on_front_flushed(struct heap *heap, unsigned class)
{
    (void)heap, (void)class;
}

/* The heap's thread freed a block, and its front gave blocks to the store for it: that is done. */
static inline void on_flush_ended(struct heap *heap)
{
    (void)heap;
}

/* A front is empty, and its class is to get a block. Has another place given one? */
static inline bool on_take_wanted(struct heap *heap, unsigned class, void **block)
{
    (void)heap, (void)class, (void)block;
    return false;
}

/* A heap takes blocks from what heaps share, by the calling thread. */
static inline void on_take_begins(struct heap *heap)
{
    (void)heap;
}

/* A miss or a large block, where time passes. Without a lock. */
static inline void on_slow_path(void)
{
    release_slow_path();
}

/* A class has a slab more. Under the lock of the pools. */
static inline void on_slab_acquired(unsigned class)
{
    (void)class;
    populate_slab_acquired(class);
}

/* A class has a slab less: it is empty. */
static inline void on_slab_retired(unsigned class)
{
    (void)class;
    populate_slab_retired(class);
}

/* An empty slab lies in its pool, or leaves it. Under the lock of the pools. */
static inline void on_slab_pooled(struct heap *heap, struct slab *slab)
{
    (void)heap, (void)slab;
    unmapping_slab_pooled(heap, slab);
}

static inline void on_slab_reused(struct slab *slab)
{
    (void)slab;
    unmapping_slab_reused(slab);
}

/* In a pool, another slab lies above one, or none any more. */
static inline void on_slab_covered(struct slab *slab, struct slab *above)
{
    (void)slab, (void)above;
    unmapping_slab_covered(slab, above);
}

/* A slab leaves its superslab: was it handed out before? */
static inline bool on_slab_claimed(struct slab *slab)
{
    (void)slab;
    return unmapping_slab_claimed(slab) || false;
}

/* Memory of slabs was mapped that is to be of this shard. */
static inline void on_memory_mapped(unsigned shard, void *start, size_t bytes)
{
    (void)shard, (void)start, (void)bytes;
}

/* What is only reserved is unmapped, for address space has a limit: the bytes. Under the pool lock. */
static inline size_t on_vacate(void)
{
    return unmapping_vacate() + 0;
}

/* A superslab is needed: was one in use before? Then its offset, and whether it is to lie on huge pages. */
static inline bool on_superslab_wanted(size_t region, size_t *offset, bool *huge)
{
    (void)region, (void)offset, (void)huge;
    return unmapping_superslab_wanted(region, offset, huge) || false;
}

/* A superslab was mapped for a heap, and has all its slabs. Under the pool lock. */
static inline void on_superslab_ready(struct heap *heap, size_t offset)
{
    (void)heap, (void)offset;
    unmapping_superslab_ready(heap, offset);
}

/* One was mapped because a class had no slab left. */
static inline void on_superslab_late(void)
{
}

/* Free pages of the run span, which no block had since they went back, are handed out. Under the large lock. */
static inline void on_run_taken(uint32_t first, uint32_t length)
{
    (void)first, (void)length;
}

/* The report of the heap's counters is written. */
static inline void on_report(struct text *out)
{
    (void)out;
}

/* Who performs events looks at the whole heap: nobody else may change it from here on. */
static inline void on_inspection(void)
{
}

/* The checked build looks at the slabs; `mapped`: bytes of superslabs by region. Under the pool lock. */
static inline void on_check(const size_t *mapped)
{
    (void)mapped;
    unmapping_check(mapped);
}

/* The checked build forgets all blocks: the heap is as new. */
static inline void on_reset(void)
{
    populate_reset();
    unmapping_reset();
    run_cache_reset();
}
