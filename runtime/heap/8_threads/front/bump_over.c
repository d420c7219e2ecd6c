/* Bump over further levels, slow paths: level 0 a stretch of fresh blocks; frees fill level 1, a miss takes one block of it. */
#include "8_threads/front/bump_over.h"

#include "8_threads/front/below.h"
#include "8_threads/large.h"
#include "8_threads/thread.h"

void *bump_over_refill(struct heap *heap, unsigned class)
{
    heap = hs_heap_of(heap);
    if (heap == &hs_no_heap)
        return hs_alloc_run_for(class);
    if (hs_filled_meanwhile(heap, class) && heap->front[class].held > 0) {
        count_checked(&heap->count[class].hit0);
        return bump_next(heap, class);
    }
    return below_supply(heap, class) > 0 ? below_pop(heap, class, 1) : bump_fill(heap, class);
}

void bump_over_free(struct heap *heap, unsigned class, void *block)
{
    if (heap == &hs_no_heap) {
        hs_free_without_heap(class, block);
        return;
    }
    const bool flushed = below_make_room(heap, class, 1);
    below_push(heap, class, 1, block);
    count_checked(&heap->count[class].push);
    if (flushed)
        on_flush_ended(heap);
}

void bump_over_drain(struct heap *heap, unsigned class)
{
    bump_drain(heap, class);
    below_drain(heap, class);
}
