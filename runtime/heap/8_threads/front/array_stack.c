/* Array stack, slow paths. */
#include "8_threads/front/array_stack.h"

#include "8_threads/large.h"
#include "6_slabs/store.h"
#include "8_threads/thread.h"
#include "6_slabs/transfer/transfer.h"
#include "moments.h"
#include "8_threads/front/own_stack.h"

#include OPENING_ROW

#include <string.h>

static void *take_alone(struct heap *heap, unsigned class)
{
    void *block;
    if (hs_take(heap, class, &block, 1) == 0)
        return hs_alloc_run_for(class);
    on_front_missed(heap, class);
    return block;
}

/* A compact stack that is full, though its class may have more blocks, moves or gives all: then it has room. */
static bool stack_has_room(struct heap *heap, unsigned class, void *block)
{
    const uint32_t held = stack_held(heap, class);
    if (held == hs_capacity(heap, class))
        return false;
    if (opening_gathers(heap, class)) {
        count_own(&heap->count[class].flushed, held);
        hs_drain_front(heap, class);
        *stack_slots(heap, class) = block;
        stack_hold(heap, class, 1);
        count_checked(&heap->count[class].push);
        on_flush_ended(heap);
        return true;
    }
    void **from = stack_slots(heap, class), **to = stack_slots_for(heap, class, held + 1);
    memcpy(to, from, held * sizeof *to);
    to[held] = block;
    stack_open_at(heap, class, to, held + 1);
    count_checked(&heap->count[class].push);
    return true;
}

static void give_alone(struct heap *heap, unsigned class, void *block)
{
    count_own(&heap->count[class].direct, 1);
    hs_give_all(heap, class, &block, 1);
    on_flush_ended(heap);
}

void *array_stack_refill(struct heap *heap, unsigned class)
{
    heap = hs_heap_of(heap);
    if (heap == &hs_no_heap)
        return hs_alloc_run_for(class);
    if (hs_filled_meanwhile(heap, class) && stack_held(heap, class) > 0)
        return stack_pop(heap, class);
    opening_missed(heap);
    if (opening_stays_closed(heap, class))
        return take_alone(heap, class);
    return stack_fill(heap, class);
}

void array_stack_flush(struct heap *heap, unsigned class, void *block)
{
    if (heap == &hs_no_heap) {
        hs_free_without_heap(class, block);
        return;
    }
    if (opening_gives_back(heap, class)) {
        give_alone(heap, class, block);
        return;
    }
    if (stack_begins(heap, class, block) || stack_has_room(heap, class, block))
        return;
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
    on_front_flushed(heap, class);
    on_flush_ended(heap);
}
