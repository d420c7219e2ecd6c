/* Owned slab, slow paths: the store serves where the hot slab cannot, and takes a block whose slab may change its place. */
#include "8_threads/front/owned_slab.h"

#include "8_threads/large.h"
#include "5_slab_policies/remote/remote.h"
#include "6_slabs/store.h"
#include "8_threads/thread.h"

void *owned_slab_refill(struct heap *heap, unsigned class)
{
    heap = hs_heap_of(heap);
    if (heap == &hs_no_heap)
        return hs_alloc_run_for(class);
    void *block = hs_filled_meanwhile(heap, class) ? hs_slab_pop(heap, class, hs_class[class].blocks) : NULL;
    if (block != NULL) {
        count_checked(&heap->count[class].hit0);
        return block;
    }
    return hs_take(heap, class, &block, 1) == 1 ? block : hs_alloc_run_for(class);
}

void owned_slab_give(struct heap *heap, unsigned class, void *block)
{
    count_own(&heap->count[class].direct, 1);
    hs_give_all(heap, class, &block, 1);
    on_flush_ended(heap);
}
