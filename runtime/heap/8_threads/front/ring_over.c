/* Ring over further levels, slow paths: level 0 a ring. */
#include "8_threads/front/ring_over.h"

#include "8_threads/front/below.h"
#include "8_threads/front/moves.h"
#include "8_threads/front/ring.h"
#include "8_threads/thread.h"

/* Blocks of level 1 move up; the first of them is returned, the next one comes out of level 0 next. */
static void *ring_promote(struct heap *heap, unsigned class, uint32_t blocks)
{
    const struct class_plan *plan = &hs_class[class];
    struct front *front = &heap->front[class];
    void **slot = heap->slot + plan->slot;
    void *first = below_pop(heap, class, 1);
    for (uint32_t place = 1; place < blocks; place++)
        slot[place] = below_pop(heap, class, 1);
    front->head = 1 & (plan->capacity - 1);
    word_set(&front->held, blocks - 1);
    return first;
}

void *ring_over_refill(struct heap *heap, unsigned class)
{
    heap = hs_heap_of(heap);
    if (heap == &hs_no_heap)
        return hs_alloc_run_for(class);
    if (hs_filled_meanwhile(heap, class) && heap->front[class].held > 0) {
        count_checked(&heap->count[class].hit0);
        return ring_oldest(heap, class);
    }
    uint32_t taken = 0, blocks = below_promotes(heap, class, heap->slot + hs_class[class].slot, &taken);
    if (blocks > 0)
        return ring_promote(heap, class, blocks);
    return below_bumps(class) ? ring_filled(heap, class, taken) : ring_refill(heap, class);
}

static void *ring_leaves(struct heap *heap, unsigned class, uint32_t place)
{
    return ring_oldest(heap, class);
}

void ring_over_spill(struct heap *heap, unsigned class, void *block)
{
    if (heap == &hs_no_heap) {
        hs_free_without_heap(class, block);
        return;
    }
    check(heap->front[class].held == hs_class[class].capacity, "ring_over: a spill finds held == capacity");
    const bool flushed = below_spill(heap, class, ring_leaves);
    ring_append(heap, class, block);
    count_checked(&heap->count[class].push);
    if (flushed)
        on_flush_ended(heap);
}

void ring_over_drain(struct heap *heap, unsigned class)
{
    struct front *front = &heap->front[class];
    if (front->held > 0) {
        unsigned held = remote_give_begin(class);
        while (front->held > 0)
            hs_give(heap, class, ring_oldest(heap, class), &held);
        remote_give_end(held);
    }
    front->head = 0;
    below_drain(heap, class);
}
