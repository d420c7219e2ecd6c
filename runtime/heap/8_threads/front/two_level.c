/* Two levels, slow paths: level 0 a stack (slot[0] the oldest), level 1 a LIFO list through the blocks. */
#include "8_threads/front/two_level.h"

#include "8_threads/front/list.h"
#include "8_threads/large.h"
#include "8_threads/thread.h"
#include "8_threads/front/own_stack.h"

#include <string.h>

/* The newest of level 1 move up; the newest of them is returned, the next one comes out of level 0 next. */
static void *promote(struct heap *heap, unsigned class)
{
    struct front *front = &heap->front[class];
    void **slot = stack_slots(heap, class);
    uint32_t blocks = list_promotes(heap, class);
    void *newest = list_pop(front);
    stack_hold(heap, class, blocks - 1);
    for (uint32_t place = blocks - 1; place > 0; place--)
        slot[place - 1] = list_pop(front);
    return newest;
}

void *two_level_refill(struct heap *heap, unsigned class)
{
    heap = hs_heap_of(heap);
    if (heap == &hs_no_heap)
        return hs_alloc_run_for(class);
    if (hs_filled_meanwhile(heap, class) && stack_held(heap, class) > 0)
        return stack_pop(heap, class);
    return heap->front[class].listed > 0 ? promote(heap, class) : stack_fill(heap, class);
}

void two_level_spill(struct heap *heap, unsigned class, void *block)
{
    if (heap == &hs_no_heap) {
        hs_free_without_heap(class, block);
        return;
    }
    if (stack_begins(heap, class, block))
        return;
    const struct class_plan *plan = &hs_class[class];
    struct front *front = &heap->front[class];
    struct class_count *count = &heap->count[class];
    void **slot = stack_slots(heap, class);
    check(stack_held(heap, class) == plan->capacity, "two_level: a spill finds held == capacity");
    const bool flushed = list_make_room(heap, class, plan->spill);
    count_own(&count->spill, 1);
    for (uint32_t oldest = 0; oldest < plan->spill; oldest++)
        list_push(front, slot[oldest]);
    memmove(slot, slot + plan->spill, (plan->capacity - plan->spill) * sizeof *slot);
    slot[plan->capacity - plan->spill] = block;
    stack_hold(heap, class, plan->capacity - plan->spill + 1);
    count_checked(&count->push);
    if (flushed)
        on_flush_ended(heap);
}

void two_level_drain(struct heap *heap, unsigned class)
{
    stack_drain(heap, class);
    if (heap->front[class].listed > 0)
        list_give(heap, class, heap->front[class].listed);
}
