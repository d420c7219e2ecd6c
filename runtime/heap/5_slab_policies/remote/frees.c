/* The owner drains its list after DRAIN_FREES frees too. */
#include "5_slab_policies/remote/frees.h"

#include "5_slab_policies/remote/remote.h"

void remote_free(struct heap *owner, unsigned class, void *block); /* of the kind of list that this library has */

/* The block is not in the front yet, and its free is counted once more on its way. */
void remote_frees_end(void *block)
{
    struct heap *heap = hs_self;
    heap->rooms.frees_left = DRAIN_FREES + 1;
    hs_free_small(block);
    remote_drain_due(heap);
}

void remote_free_counted(struct heap *owner, unsigned class, void *block)
{
    struct heap *heap = hs_self;
    remote_free(owner, class, block);
    if (heap == &hs_no_heap || --heap->rooms.frees_left > 0)
        return;
    heap->rooms.frees_left = DRAIN_FREES;
    remote_drain_due(heap);
}
