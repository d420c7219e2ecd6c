/* A heap of a thread is of the node that its thread runs on: of another one where the thread has moved. */
#pragma once

unsigned nodes_here(void); /* of the processor that the thread runs on */

static inline void shards_take_begins(struct heap *heap)
{
    if (nodes_known() > 1)
        heap->rooms.shard = nodes_here();
}
