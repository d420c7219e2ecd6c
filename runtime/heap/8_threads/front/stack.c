/* A level 0 that is a stack: stack_slots() up to heap->top, LIFO, slot[0] the oldest. */
#include "8_threads/front/stack.h"

#include "8_threads/background/background.h"
#include "8_threads/large.h"
#include "8_threads/learner/learner.h"
#include "6_slabs/store.h"
#include "6_slabs/transfer.h"

#ifndef PROCESSOR_BATCH /* a processor's stacks are no thread's: their slow paths are those of the one front that may have them */
void *stack_fill(struct heap *heap, unsigned class)
{
    void **slot = stack_slots(heap, class);
    uint32_t taken = hs_transfer_take(heap, class, slot);
    if (taken == 0)
        taken = hs_take(heap, class, slot, hs_class[class].refill);
    if (taken == 0)
        return hs_alloc_run_for(class);
    if (!stack_is_open(heap, class))
        stack_open(heap, class);
    stack_hold(heap, class, taken - 1);
    void *block = slot[taken - 1];
    learner_missed(heap, class);
    background_missed(class);
    return block;
}

static void *take_newest(struct heap *heap, unsigned class)
{
    void **top = heap->top[1 + class] - 1;
    __atomic_store_n(&heap->top[1 + class], top, __ATOMIC_RELAXED);
    return *top;
}

void *stack_pop(struct heap *heap, unsigned class)
{
    count_checked(&heap->count[class].hit0);
    return take_newest(heap, class);
}

#ifdef FRONTS_LEND
void *stack_lend(struct heap *heap, unsigned class)
{
    return stack_held(heap, class) > 0 ? take_newest(heap, class) : NULL;
}
#endif

bool stack_begins(struct heap *heap, unsigned class, void *block)
{
    if (stack_is_open(heap, class))
        return false;
    stack_open(heap, class);
    *stack_slots(heap, class) = block;
    stack_hold(heap, class, 1);
    count_checked(&heap->count[class].push);
    return true;
}

void stack_drain(struct heap *heap, unsigned class)
{
    if (!stack_is_open(heap, class))
        return;
    if (stack_held(heap, class) > 0)
        hs_give_all(heap, class, stack_slots(heap, class), stack_held(heap, class));
    stack_hold(heap, class, 0);
}
#endif
