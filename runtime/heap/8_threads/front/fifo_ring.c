/* FIFO ring, slow paths: level 0 is a ring. */
#include "8_threads/front/fifo_ring.h"

#include "8_threads/front/ring.h"
#include "8_threads/thread.h"

/* Gives the oldest blocks to the store, oldest first. */
static void give_oldest(struct heap *heap, unsigned class, uint32_t blocks)
{
    unsigned held = remote_give_begin(class);
    while (blocks-- > 0)
        hs_give(heap, class, ring_oldest(heap, class), &held);
    remote_give_end(held);
}

void *fifo_ring_refill(struct heap *heap, unsigned class)
{
    heap = hs_heap_of(heap);
    if (heap == &hs_no_heap)
        return hs_alloc_run_for(class);
    if (hs_filled_meanwhile(heap, class) && heap->front[class].held > 0) {
        count_checked(&heap->count[class].hit0);
        return ring_oldest(heap, class);
    }
    return ring_refill(heap, class);
}

void fifo_ring_flush(struct heap *heap, unsigned class, void *block)
{
    if (heap == &hs_no_heap) {
        hs_free_without_heap(class, block);
        return;
    }
    const struct class_plan *plan = &hs_class[class];
    struct class_count *count = &heap->count[class];
    check(heap->front[class].held == plan->capacity, "fifo_ring: a flush finds held == capacity");
    count_own(&count->flush, 1);
    count_own(&count->flushed, plan->flush);
    give_oldest(heap, class, plan->flush);
    ring_append(heap, class, block);
    count_checked(&count->push);
    on_flush_ended(heap);
}

void fifo_ring_drain(struct heap *heap, unsigned class)
{
    if (heap->front[class].held > 0)
        give_oldest(heap, class, heap->front[class].held);
    heap->front[class].head = 0;
}
