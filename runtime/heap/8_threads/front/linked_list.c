/* Linked list, slow paths: level 0 is heap->front[].list, LIFO through the blocks' first words. */
#include "8_threads/front/linked_list.h"

#include "8_threads/large.h"
#include "4_blocks/links.h"
#include "6_slabs/store.h"
#include "8_threads/thread.h"
#include "moments.h"

static void linked_push(struct front *front, void *block)
{
    struct block *first = block;
    link_set(first, front->list);
    front->list = first;
    word_add(&front->held, 1);
}

void linked_list_give(struct heap *heap, unsigned class, uint32_t blocks)
{
    unsigned held = remote_give_begin(class);
    while (blocks-- > 0)
        hs_give(heap, class, linked_pop(&heap->front[class]), &held);
    remote_give_end(held);
}

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
    void **taken = heap->slot + hs_class[class].slot; /* a list needs no slots: they serve the refill */
    uint32_t blocks = hs_take(heap, class, taken, hs_class[class].refill);
    if (blocks == 0)
        return hs_alloc_run_for(class);
    for (uint32_t index = 0; index + 1 < blocks; index++)
        linked_push(front, taken[index]);
    void *block = taken[blocks - 1];
    on_front_missed(heap, class);
    return block;
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
    linked_list_give(heap, class, plan->flush);
    linked_push(&heap->front[class], block);
    count_checked(&count->push);
    on_front_flushed(heap, class);
    on_flush_ended(heap);
}

void linked_list_drain(struct heap *heap, unsigned class)
{
    if (heap->front[class].held > 0)
        linked_list_give(heap, class, heap->front[class].held);
}
