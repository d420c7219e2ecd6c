/* Array stack, slow paths. */
#include "front/array_stack.h"

#include "front/stack.h"
#include "large.h"
#include "learner/learner.h"
#include "store.h"
#include "thread.h"
#include "transfer.h"

#include <string.h>

void *array_stack_refill(struct heap *heap, unsigned class)
{
    heap = hs_heap_of(heap);
    if (heap == &hs_no_heap)
        return hs_alloc_run_for(class);
    if (hs_filled_meanwhile(heap, class) && stack_held(heap, class) > 0)
        return stack_pop(heap, class);
    return stack_fill(heap, class);
}

void array_stack_flush(struct heap *heap, unsigned class, void *block)
{
    if (heap == &hs_no_heap) {
        hs_free_without_heap(class, block);
        return;
    }
    const struct class_plan *plan = &hs_class[class];
    struct class_count *count = &heap->count[class];
    void **slot = stack_slots(heap, class);
    const uint32_t capacity = hs_capacity(heap, class);
    check(stack_held(heap, class) == capacity, "array_stack: a flush finds held == capacity");
    count_own(&count->flush, 1);
    count_own(&count->flushed, plan->flush);
    hs_transfer_flush(heap, class, slot);
    memmove(slot, slot + plan->flush, (capacity - plan->flush) * sizeof *slot);
    slot[capacity - plan->flush] = block;
    stack_hold(heap, class, capacity - plan->flush + 1);
    count_checked(&count->push);
    learner_flushed(heap, class);
    hs_flushed(heap);
}

#ifdef LEARN_WINDOW
void array_stack_resize(struct heap *heap, unsigned class, uint32_t capacity)
{
    void **slot = stack_slots(heap, class);
    uint32_t held = stack_held(heap, class);
    heap->front[class].capacity = capacity;
    heap->end[1 + class] = slot + capacity;
    if (held <= capacity)
        return;
    uint32_t surplus = held - capacity;
    count_own(&heap->count[class].flushed, surplus);
    hs_give_all(heap, class, slot, surplus);
    memmove(slot, slot + surplus, capacity * sizeof *slot);
    stack_hold(heap, class, capacity);
}
#endif
