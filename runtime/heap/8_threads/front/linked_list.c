/* Linked list, slow paths: level 0 is heap->front[].list, LIFO through the blocks' first words. */
#include "8_threads/front/linked_list.h"

#include "8_threads/large.h"
#include "4_blocks/links.h"
#include "6_slabs/store.h"
#include "8_threads/thread.h"
#include "moments.h"

void *linked_list_refill(struct heap *heap, unsigned class)
{
    heap = hs_heap_of(heap);
    if (heap == &hs_no_heap)
        return hs_alloc_run_for(class);
    struct front *front = &heap->front[class];
    if (hs_filled_meanwhile(heap, class) && front->held > 0) {
        count_checked(&heap->count[class].hit0);
        return linked_pop(front);
    }
    return linked_fill(heap, class);
}

void linked_list_flush(struct heap *heap, unsigned class, void *block)
{
    if (heap == &hs_no_heap) {
        hs_free_without_heap(class, block);
        return;
    }
    const struct class_plan *plan = &hs_class[class];
    struct class_count *count = &heap->count[class];
    check(heap->front[class].held == hs_capacity(heap, class), "linked_list: a flush finds held == capacity");
    count_own(&count->flush, 1);
    count_own(&count->flushed, plan->flush);
    linked_give(heap, class, plan->flush);
    linked_push(&heap->front[class], block);
    count_checked(&count->push);
    on_front_flushed(heap, class);
    on_flush_ended(heap);
}

void linked_list_drain(struct heap *heap, unsigned class)
{
    if (heap->front[class].held > 0)
        linked_give(heap, class, heap->front[class].held);
}
