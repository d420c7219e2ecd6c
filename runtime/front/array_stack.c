/* Array stack, slow paths: level 0 is stack_slots() up to heap->top, LIFO, slot[0] the oldest. */
#include "front/array_stack.h"

#include "large.h"
#include "remote/remote.h"
#include "store.h"
#include "thread.h"
#include "transfer.h"

#include <string.h>

/* Blocks of the store, so that they come out in the order it took them: how many. */
static uint32_t take_in_order(struct heap *heap, unsigned class, void **slot)
{
    uint32_t taken = hs_take(heap, class, slot, hs_class[class].refill);
    for (uint32_t low = 0; 2 * low + 1 < taken; low++) {
        void *block = slot[low];
        slot[low] = slot[taken - 1 - low];
        slot[taken - 1 - low] = block;
    }
    return taken;
}

/* Fills the empty stack and returns the first block. */
void *array_stack_fill(struct heap *heap, unsigned class)
{
    void **slot = stack_slots(heap, class);
    uint32_t taken = hs_transfer_take(heap, class, slot);
    if (taken == 0)
        taken = take_in_order(heap, class, slot);
    if (taken == 0)
        return hs_alloc_run_for(class);
    stack_hold(heap, class, taken - 1);
    return slot[taken - 1];
}

void *array_stack_pop(struct heap *heap, unsigned class)
{
    count_checked(&heap->count[class].hit0);
    void **top = heap->top[1 + class] - 1;
    __atomic_store_n(&heap->top[1 + class], top, __ATOMIC_RELAXED);
    return *top;
}

void *array_stack_refill(struct heap *heap, unsigned class)
{
    heap = hs_heap_of(heap);
    if (heap == NULL)
        return hs_alloc_run_for(class);
    if (remote_drain(heap) && stack_held(heap, class) > 0)
        return array_stack_pop(heap, class);
    return array_stack_fill(heap, class);
}

void array_stack_flush(struct heap *heap, unsigned class, void *block)
{
    if (heap == &hs_no_heap) {
        remote_orphan_free(class, block);
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
}

void array_stack_drain(struct heap *heap, unsigned class)
{
    hs_give_all(heap, class, stack_slots(heap, class), stack_held(heap, class));
    stack_hold(heap, class, 0);
}
