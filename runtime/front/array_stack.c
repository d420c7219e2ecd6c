/* Array stack, slow paths: level 0 is heap->slot[plan.slot ...], LIFO, slot[0] the oldest. */
#include "heap.h"

#include <string.h>

/* Fills the empty stack so that blocks come out in the order the store took them; the first is returned. */
void *array_stack_fill(struct heap *heap, unsigned class)
{
    const struct class_plan *plan = &hs_class[class];
    void **slot = heap->slot + plan->slot;
    uint32_t taken = hs_take(heap, class, slot, plan->refill);
    if (taken == 0)
        return hs_alloc_run_for(class);
    for (uint32_t low = 0, high = taken - 1; low < high; low++, high--) {
        void *block = slot[low];
        slot[low] = slot[high];
        slot[high] = block;
    }
    heap->front[class].held = taken - 1;
    return slot[taken - 1];
}

void *array_stack_pop(struct heap *heap, unsigned class)
{
    count_checked(&heap->count[class].hit0);
    return heap->slot[hs_class[class].slot + --heap->front[class].held];
}

void *array_stack_refill(struct heap *heap, unsigned class)
{
    heap = hs_heap_of(heap);
    if (heap == NULL)
        return hs_alloc_run_for(class);
    if (remote_drain(heap) && heap->front[class].held > 0)
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
    struct front *front = &heap->front[class];
    struct class_count *count = &heap->count[class];
    void **slot = heap->slot + plan->slot;
    check(front->held == plan->capacity, "array_stack: a flush finds held == capacity");
    count->flush++;
    count->flushed += plan->flush;
    hs_give_all(heap, class, slot, plan->flush);
    memmove(slot, slot + plan->flush, (plan->capacity - plan->flush) * sizeof *slot);
    front->held = plan->capacity - plan->flush;
    slot[front->held++] = block;
    count_checked(&count->push);
}

void array_stack_drain(struct heap *heap, unsigned class)
{
    struct front *front = &heap->front[class];
    hs_give_all(heap, class, heap->slot + hs_class[class].slot, front->held);
    front->held = 0;
}
