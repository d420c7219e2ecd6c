/* Bump, slow paths: level 0 a stretch of fresh blocks. */
#include "8_threads/front/bump.h"

#include "8_threads/large.h"
#include "8_threads/thread.h"
#include "6_slabs/store.h"

void *bump_fill(struct heap *heap, unsigned class)
{
    struct front *front = &heap->front[class];
    struct stretch stretch;
    void *block;
    if (hs_carve(heap, class, &block, 1, hs_class[class].capacity, &stretch) == 1)
        return block;
    if (stretch.blocks == 0)
        return hs_alloc_run_for(class);
    front->list = stretch.first;
    word_set(&front->held, stretch.blocks);
    return bump_next(heap, class);
}

void *bump_refill(struct heap *heap, unsigned class)
{
    heap = hs_heap_of(heap);
    if (heap == &hs_no_heap)
        return hs_alloc_run_for(class);
    if (hs_filled_meanwhile(heap, class) && heap->front[class].held > 0) {
        count_checked(&heap->count[class].hit0);
        return bump_next(heap, class);
    }
    return bump_fill(heap, class);
}

void bump_drain(struct heap *heap, unsigned class)
{
    if (heap->front[class].held == 0)
        return;
    unsigned held = remote_give_begin(class);
    while (heap->front[class].held > 0)
        hs_give(heap, class, bump_next(heap, class), &held);
    remote_give_end(held);
}
