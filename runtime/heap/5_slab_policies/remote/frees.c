/* The owner drains its list after DRAIN_FREES frees too. */
#include "5_slab_policies/remote/frees.h"

#include "5_slab_policies/remote/remote.h"

/* The block is not in the front yet, and its free is counted once more on its way. */
void remote_frees_end(void *block)
{
    struct heap *heap = hs_self;
    heap->rooms.frees_left = DRAIN_FREES + 1;
    hs_free_small(block);
    remote_drain_due(heap);
}
