/* A heap of a processor is of one node for ever. */
#pragma once

static inline void shards_processor_heap(struct heap *heap, int32_t processor)
{
    heap->rooms.shard = nodes_shard(processor);
}
