/* List over further levels, slow paths: level 0 a list, as of a front that is a list alone. */
#include "8_threads/front/list_over.h"

#include "8_threads/front/filled.h"
#include "8_threads/front/below.h"
#include "8_threads/front/moves.h"
#include "8_threads/thread.h"

/* Blocks of level 1 move up; the first of them is returned, the next one comes out of level 0 next. */
static void *list_promote(struct heap *heap, unsigned class, uint32_t blocks)
{
    struct front *front = &heap->front[class];
    void *first = below_pop(heap, class, 1);
    if (blocks == 1)
        return first;
    struct block *last = below_pop(heap, class, 1);
    front->list = last;
    for (uint32_t more = blocks - 2; more > 0; more--) {
        struct block *next = below_pop(heap, class, 1);
        link_set(last, next);
        last = next;
    }
    link_set(last, NULL);
    word_set(&front->held, blocks - 1);
    return first;
}

void *list_over_refill(struct heap *heap, unsigned class)
{
    heap = hs_heap_of(heap);
    if (heap == &hs_no_heap)
        return hs_alloc_run_for(class);
    if (hs_filled_meanwhile(heap, class) && heap->front[class].held > 0) {
        count_checked(&heap->count[class].hit0);
        return linked_pop(&heap->front[class]);
    }
    void **slots = stack_slots(heap, class);
    uint32_t taken = 0, blocks = below_promotes(heap, class, slots, &taken);
    if (blocks > 0)
        return list_promote(heap, class, blocks);
    return below_bumps(class) ? linked_filled(heap, class, slots, taken) : linked_fill(heap, class);
}

static void *list_leaves(struct heap *heap, unsigned class, uint32_t place)
{
    return linked_pop(&heap->front[class]);
}

void list_over_spill(struct heap *heap, unsigned class, void *block)
{
    if (heap == &hs_no_heap) {
        hs_free_without_heap(class, block);
        return;
    }
    check(heap->front[class].held == hs_class[class].capacity, "list_over: a spill finds held == capacity");
    const bool flushed = below_spill(heap, class, list_leaves);
    linked_push(&heap->front[class], block);
    count_checked(&heap->count[class].push);
    if (flushed)
        on_flush_ended(heap);
}

void list_over_drain(struct heap *heap, unsigned class)
{
    if (heap->front[class].held > 0)
        linked_give(heap, class, heap->front[class].held);
    below_drain(heap, class);
}
