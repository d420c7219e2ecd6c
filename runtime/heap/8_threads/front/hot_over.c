/* Hot stack over further levels, slow paths: frees alone fill level 0; a miss takes one block of level 1. */
#include "8_threads/front/hot_over.h"

#include "8_threads/front/below.h"
#include "8_threads/large.h"
#include "8_threads/thread.h"
#include "8_threads/front/own_stack.h"

void *hot_over_refill(struct heap *heap, unsigned class)
{
    heap = hs_heap_of(heap);
    if (heap == &hs_no_heap)
        return hs_alloc_run_for(class);
    if (hs_filled_meanwhile(heap, class) && stack_held(heap, class) > 0)
        return stack_pop(heap, class);
    return below_supply(heap, class) > 0 ? below_pop(heap, class, 1) : below_fill(heap, class);
}

void hot_over_spill(struct heap *heap, unsigned class, void *block)
{
    if (heap == &hs_no_heap) {
        hs_free_without_heap(class, block);
        return;
    }
    if (stack_begins(heap, class, block))
        return;
    struct class_count *count = &heap->count[class];
    check(stack_held(heap, class) == hs_class[class].capacity, "hot_over: a spill finds held == capacity");
    const bool flushed = below_make_room(heap, class, 1);
    count_own(&count->spill, 1);
    below_push(heap, class, 1, block);
    count_checked(&count->push);
    if (flushed)
        on_flush_ended(heap);
}

void hot_over_drain(struct heap *heap, unsigned class)
{
    stack_drain(heap, class);
    below_drain(heap, class);
}
