/* No front: each allocation takes one block from the store, each free gives one back. */
#include "8_threads/front/none.h"

#include "8_threads/large.h"
#include "5_slab_policies/remote/remote.h"
#include "6_slabs/store.h"
#include "8_threads/thread.h"

void *none_alloc(struct heap *heap, unsigned class)
{
    heap = hs_heap_of(heap);
    if (heap == &hs_no_heap)
        return hs_alloc_run_for(class);
    hs_filled_meanwhile(heap, class);
    void *block;
    return hs_take(heap, class, &block, 1) == 1 ? block : hs_alloc_run_for(class);
}

void none_free(struct heap *heap, unsigned class, void *block)
{
    if (heap == &hs_no_heap) {
        hs_free_without_heap(class, block);
        return;
    }
    count_own(&heap->count[class].direct, 1);
    hs_give_all(heap, class, &block, 1);
    on_flush_ended(heap);
}
