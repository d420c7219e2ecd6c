/* A level 0 that is a list: how it is filled and emptied. */
#include "8_threads/front/own_list.h"

#include "8_threads/front/filled.h"
#include "5_slab_policies/remote/remote.h"
#include "6_slabs/store.h"
#include "8_threads/large.h"
#include "moments.h"

void *linked_fill(struct heap *heap, unsigned class)
{
    void **taken = heap->slot + hs_class[class].slot; /* a list needs no slots: they serve the refill */
    return linked_filled(heap, class, taken, hs_take(heap, class, taken, hs_class[class].refill));
}

void linked_give(struct heap *heap, unsigned class, uint32_t blocks)
{
    unsigned held = remote_give_begin(class);
    while (blocks-- > 0)
        hs_give(heap, class, linked_pop(&heap->front[class]), &held);
    remote_give_end(held);
}
