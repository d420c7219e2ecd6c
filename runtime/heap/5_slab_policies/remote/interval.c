/* The owner drains its list after DRAIN_INTERVAL flushes too. */
#include "5_slab_policies/remote/interval.h"

#include "5_slab_policies/remote/remote.h"

void remote_flush_ended(struct heap *heap)
{
    if (++heap->rooms.flushes < DRAIN_INTERVAL)
        return;
    heap->rooms.flushes = 0;
    remote_drain_due(heap);
}
