/* The owner drains its list after some flushes too. */
#pragma once

#include "3_records/heap.h"

void remote_flush_ended(struct heap *heap);

/* Flushes of a drain do not count, and after it the count begins anew. */
static inline void drain_begins(struct heap *heap)
{
    heap->rooms.flushes = INT64_MIN;
}

static inline void drain_ends(struct heap *heap)
{
    heap->rooms.flushes = 0;
}
