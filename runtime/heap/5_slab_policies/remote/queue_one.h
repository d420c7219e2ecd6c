/* One queue for all classes. Definitions, taken in by the one kind that has queues. */
#pragma once

bool remote_drain(struct heap *heap)
{
    return drain_chain(heap, queue_of(heap, 0));
}
