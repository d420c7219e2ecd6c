/* FIFO ring, slow paths: level 0 is heap->slot[plan.slot ...], a ring of capacity (a power of two), oldest at `head`. */
#include "front/fifo_ring.h"

#include "large.h"
#include "store.h"
#include "thread.h"

static void enqueue(struct heap *heap, unsigned class, void *block)
{
    struct front *front = &heap->front[class];
    const struct class_plan *plan = &hs_class[class];
    heap->slot[plan->slot + ((front->head + front->held) & (plan->capacity - 1))] = block;
    word_add(&front->held, 1);
}

static void *dequeue(struct heap *heap, unsigned class)
{
    struct front *front = &heap->front[class];
    const struct class_plan *plan = &hs_class[class];
    void *block = heap->slot[plan->slot + front->head];
    front->head = (front->head + 1) & (plan->capacity - 1);
    word_subtract(&front->held, 1);
    return block;
}

/* Gives the oldest blocks to the store, oldest first. */
static void give_oldest(struct heap *heap, unsigned class, uint32_t blocks)
{
    remote_lock_store();
    while (blocks-- > 0)
        hs_give(heap, class, dequeue(heap, class));
    remote_unlock_store();
}

void *fifo_ring_refill(struct heap *heap, unsigned class)
{
    heap = hs_heap_of(heap);
    if (heap == &hs_no_heap)
        return hs_alloc_run_for(class);
    if (hs_filled_meanwhile(heap) && heap->front[class].held > 0) {
        count_checked(&heap->count[class].hit0);
        return dequeue(heap, class);
    }
    void **slot = heap->slot + hs_class[class].slot;
    heap->front[class].head = 0;
    uint32_t taken = hs_take(heap, class, slot, hs_class[class].refill);
    word_set(&heap->front[class].held, taken);
    return taken > 0 ? dequeue(heap, class) : hs_alloc_run_for(class);
}

void fifo_ring_flush(struct heap *heap, unsigned class, void *block)
{
    if (heap == &hs_no_heap) {
        hs_free_without_heap(class, block);
        return;
    }
    const struct class_plan *plan = &hs_class[class];
    struct class_count *count = &heap->count[class];
    check(heap->front[class].held == plan->capacity, "fifo_ring: a flush finds held == capacity");
    count_own(&count->flush, 1);
    count_own(&count->flushed, plan->flush);
    give_oldest(heap, class, plan->flush);
    enqueue(heap, class, block);
    count_checked(&count->push);
}

void fifo_ring_drain(struct heap *heap, unsigned class)
{
    give_oldest(heap, class, heap->front[class].held);
    heap->front[class].head = 0;
}
