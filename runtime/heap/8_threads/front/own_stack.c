/* A level 0 that is a stack: stack_slots() up to heap->top, LIFO, slot[0] the oldest. */
#include "8_threads/front/own_stack.h"

#include "8_threads/front/filled.h"
#include "8_threads/large.h"
#include "6_slabs/store.h"
#include "6_slabs/transfer/transfer.h"
#include "moments.h"

#include OPENING_ROW

void *stack_fill(struct heap *heap, unsigned class)
{
    void **slot = heap->slot + hs_class[class].slot;
    uint32_t taken = hs_transfer_take(heap, class, slot);
    if (taken == 0) {
        const uint32_t wanted = opening_wants(heap, class, hs_class[class].refill);
        slot = stack_slots_for(heap, class, wanted);
        taken = hs_take(heap, class, slot, wanted);
    }
    return stack_filled(heap, class, slot, taken);
}

void *stack_pop(struct heap *heap, unsigned class)
{
    count_checked(&heap->count[class].hit0);
    return stack_newest(heap, class);
}

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
    void **top = hs_stack_top(heap, class), **slot = stack_slots_at(heap, class, top);
    if (top < slot) /* it is not open */
        return;
    if (top > slot)
        hs_give_all(heap, class, slot, (uint32_t)(top - slot));
    hs_set_stack_top(heap, class, slot);
}
