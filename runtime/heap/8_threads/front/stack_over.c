/* Stack over further levels, slow paths: level 0 a stack (slot[0] the oldest). */
#include "8_threads/front/stack_over.h"

#include "8_threads/front/filled.h"
#include "8_threads/front/below.h"
#include "8_threads/front/moves.h"
#include "8_threads/large.h"
#include "8_threads/thread.h"
#include "8_threads/front/own_stack.h"

#include <string.h>

/* Blocks of level 1 move up; the first of them is returned, the next one comes out of level 0 next. */
static void *stack_promote(struct heap *heap, unsigned class, uint32_t blocks)
{
    void **slot = stack_slots(heap, class);
    void *first = below_pop(heap, class, 1);
    if (below_bumps(class) && !stack_is_open(heap, class))
        stack_open(heap, class);
    stack_hold(heap, class, blocks - 1);
    for (uint32_t place = blocks - 1; place > 0; place--)
        slot[place - 1] = below_pop(heap, class, 1);
    return first;
}

void *stack_over_refill(struct heap *heap, unsigned class)
{
    heap = hs_heap_of(heap);
    if (heap == &hs_no_heap)
        return hs_alloc_run_for(class);
    if (hs_filled_meanwhile(heap, class) && stack_held(heap, class) > 0)
        return stack_pop(heap, class);
    void **slots = stack_slots(heap, class);
    uint32_t taken = 0, blocks = below_promotes(heap, class, slots, &taken);
    if (blocks > 0)
        return stack_promote(heap, class, blocks);
    return below_bumps(class) ? stack_filled(heap, class, slots, taken) : stack_fill(heap, class);
}

static void *stack_leaves(struct heap *heap, unsigned class, uint32_t place)
{
    return stack_slots(heap, class)[place];
}

void stack_over_spill(struct heap *heap, unsigned class, void *block)
{
    if (heap == &hs_no_heap) {
        hs_free_without_heap(class, block);
        return;
    }
    if (stack_begins(heap, class, block))
        return;
    const struct class_plan *plan = &hs_class[class];
    void **slot = stack_slots(heap, class);
    check(stack_held(heap, class) == plan->capacity, "stack_over: a spill finds held == capacity");
    const bool flushed = below_spill(heap, class, stack_leaves);
    memmove(slot, slot + plan->spill, (plan->capacity - plan->spill) * sizeof *slot);
    slot[plan->capacity - plan->spill] = block;
    stack_hold(heap, class, plan->capacity - plan->spill + 1);
    count_checked(&heap->count[class].push);
    if (flushed)
        on_flush_ended(heap);
}

void stack_over_drain(struct heap *heap, unsigned class)
{
    stack_drain(heap, class);
    below_drain(heap, class);
}
