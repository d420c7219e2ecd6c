/* Array stack of a processor, slow paths. */
#include "8_threads/front/array_stack.h"

#include "6_slabs/store.h"
#include "6_slabs/transfer/transfer.h"
#include "8_threads/heaps/processor.h"
#include "8_threads/large.h"
#include "8_threads/thread.h"
#include "moments.h"

/* Blocks that found no room in the stack, because the thread is on another processor now, or another thread filled it. */
static void give_surplus(struct heap *heap, unsigned class, void *const *blocks, uint32_t count)
{
    if (count > 0)
        hs_give_all(heap, class, blocks, count);
}

static uint32_t put_all(unsigned class, void *const *blocks, uint32_t count)
{
    uint32_t put = 0;
    while (put < count && processor_put(class, blocks[put]))
        put++;
    return put;
}

static uint32_t take_all(unsigned class, void **blocks, uint32_t want)
{
    uint32_t taken = 0;
    while (taken < want && (blocks[taken] = processor_take(class)) != NULL)
        taken++;
    return taken;
}

/* The stack belongs to no thread: it may be another processor's, filled or emptied, from one line to the next. */
void *array_stack_refill(struct heap *heap, unsigned class)
{
    void *blocks[PROCESSOR_BATCH];
    void *block = processor_found() ? processor_take(class) : NULL;
    if (block != NULL) {
        processor_popped(1 + class);
        return block;
    }
    heap = hs_heap_start();
    if (heap == &hs_no_heap)
        return hs_alloc_run_for(class);
    hs_slow_path();
    uint32_t taken = hs_transfer_take(heap, class, blocks);
    if (taken == 0)
        taken = hs_take(heap, class, blocks, hs_class[class].refill);
    if (taken == 0)
        return hs_alloc_run_for(class);
    uint32_t put = put_all(class, blocks, taken - 1);
    give_surplus(heap, class, blocks + put, taken - 1 - put);
    on_front_missed(heap, class);
    return blocks[taken - 1];
}

void array_stack_flush(struct heap *heap, unsigned class, void *block)
{
    void *blocks[PROCESSOR_BATCH];
    const uint32_t flush = hs_class[class].flush;
    if (processor_found() && processor_put(class, block)) {
        processor_pushed(1 + class);
        return;
    }
    heap = processor_heap_at(processor_place());
    if (heap == &hs_no_heap) {
        hs_free_without_heap(class, block);
        return;
    }
    uint32_t taken = take_all(class, blocks, flush);
    count_own(&heap->count[class].flush, 1);
    count_own(&heap->count[class].flushed, taken);
    if (taken == flush)
        hs_transfer_flush(heap, class, blocks);
    else
        give_surplus(heap, class, blocks, taken);
    if (processor_put(class, block)) {
        processor_pushed(1 + class);
        return;
    }
    count_own(&heap->count[class].direct, 1);
    give_surplus(heap, class, &block, 1);
}

/* Of the processor that the thread is on: as many blocks as its stack held. */
void stack_drain(struct heap *heap, unsigned class)
{
    void *blocks[PROCESSOR_BATCH];
    uint32_t taken;
    do {
        taken = take_all(class, blocks, PROCESSOR_BATCH);
        give_surplus(heap, class, blocks, taken);
    } while (taken == PROCESSOR_BATCH);
}
