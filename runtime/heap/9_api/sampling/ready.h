/* Sampling "ready": while samples are taken, the heap's rows lead each malloc to its slow path, where it is counted.
 *
 * A request of up to DIRECT_LIMIT bytes finds its row in row_of: any thread may turn that to row 0, which is empty. The stacks of
 * longer blocks are *parked* by the heap's own thread: their top and end lie above slot[0], as of stacks that are not open, so
 * that malloc finds them empty and free finds them full. Only the slow paths here take them out again, for the time of one
 * operation. */
#pragma once

#include "3_records/heap.h"
#include "9_api/sampling/draws.h"

/* The rows of all heaps lead where the mean says that they do. Async-signal-safe. */
COLD void sampling_leads(void);

/* The calling thread's requests are counted from here on, if any are. */
COLD void sampling_watches(void);

static inline void *sampling_aligned(size_t bytes, size_t alignment, size_t size)
{
    sampling_watches();
    return draws_aligned(bytes, alignment, size);
}

static inline bool sampling_moves(size_t bytes)
{
    return sampling_counts() && bytes > hs_until_sample;
}

static inline void sampling_stayed(void *block, size_t bytes, bool large)
{
    if (large)
        sampling_resized(block, bytes);
    else if (sampling_counts())
        hs_until_sample -= bytes;
}

/* Does the free of a block whose stack looks full leave for hs_free_watched? Not in the row of no class. */
static inline bool sampling_parks(struct heap *heap, size_t row)
{
    return row > 0 && (sampling_counts() || heap->caches.parked[row - 1] != NULL);
}

/* The slow paths of the front. */
typedef void *front_refill(struct heap *heap, unsigned class);
typedef void front_flush(struct heap *heap, unsigned class, void *block);

/* What the emitted malloc and free leave their paths for. */
void *hs_malloc_watched(struct heap *heap, unsigned class, size_t bytes, front_refill *refill);
void *hs_malloc_large_watched(size_t bytes);
void hs_free_watched(struct heap *heap, unsigned class, void *block, front_flush *flush);

COLD void sampling_heap_made(struct heap *heap);
COLD void sampling_heap_started(struct heap *heap);
COLD void sampling_heap_adopted(struct heap *heap);
COLD void sampling_heap_drains(struct heap *heap);
