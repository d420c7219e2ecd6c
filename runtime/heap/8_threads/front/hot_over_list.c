/* Hot over list, slow paths: level 0 a small stack that only frees fill, level 1 a LIFO list through the blocks. */
#include "8_threads/front/hot_over_list.h"

#include "8_threads/front/list.h"
#include "8_threads/large.h"
#include "8_threads/thread.h"
#include "8_threads/front/own_stack.h"

void *hot_over_list_refill(struct heap *heap, unsigned class)
{
    heap = hs_heap_of(heap);
    if (heap == &hs_no_heap)
        return hs_alloc_run_for(class);
    if (hs_filled_meanwhile(heap, class) && stack_held(heap, class) > 0)
        return stack_pop(heap, class);
    struct front *front = &heap->front[class];
    if (front->listed > 0) {
        count_own(&heap->count[class].hit1, 1);
        return list_pop(front);
    }
    void **taken = stack_slots(heap, class); /* the class has slots for both levels: they serve the refill */
    uint32_t blocks = hs_take(heap, class, taken, hs_class[class].refill);
    if (blocks == 0)
        return hs_alloc_run_for(class);
    for (uint32_t index = 0; index + 1 < blocks; index++)
        list_push(front, taken[index]);
    return taken[blocks - 1];
}

void hot_over_list_spill(struct heap *heap, unsigned class, void *block)
{
    if (heap == &hs_no_heap) {
        hs_free_without_heap(class, block);
        return;
    }
    if (stack_begins(heap, class, block))
        return;
    struct class_count *count = &heap->count[class];
    check(stack_held(heap, class) == hs_class[class].capacity, "hot_over_list: a spill finds held == capacity");
    const bool flushed = list_make_room(heap, class, 1);
    count_own(&count->spill, 1);
    list_push(&heap->front[class], block);
    count_checked(&count->push);
    if (flushed)
        on_flush_ended(heap);
}

void hot_over_list_drain(struct heap *heap, unsigned class)
{
    stack_drain(heap, class);
    if (heap->front[class].listed > 0)
        list_give(heap, class, heap->front[class].listed);
}
