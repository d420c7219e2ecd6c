/* Array stack, slow paths. */
#include "front/array_stack.h"

#include "front/stack.h"
#include "large.h"
#include "thread.h"
#include "transfer.h"

#include <string.h>

void *array_stack_refill(struct heap *heap, unsigned class)
{
    heap = hs_heap_of(heap);
    if (heap == &hs_no_heap)
        return hs_alloc_run_for(class);
    if (hs_filled_meanwhile(heap) && stack_held(heap, class) > 0)
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
    check(stack_held(heap, class) == plan->capacity, "array_stack: a flush finds held == capacity");
    count_own(&count->flush, 1);
    count_own(&count->flushed, plan->flush);
    hs_transfer_flush(heap, class, slot);
    memmove(slot, slot + plan->flush, (plan->capacity - plan->flush) * sizeof *slot);
    slot[plan->capacity - plan->flush] = block;
    stack_hold(heap, class, plan->capacity - plan->flush + 1);
    count_checked(&count->push);
    hs_flushed(heap);
}
