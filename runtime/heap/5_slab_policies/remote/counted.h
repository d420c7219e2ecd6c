/* Flushes between drains are counted. */
#pragma once

/* Flushes of a drain do not count, and after it the count begins anew. */
static inline void drain_begins(struct heap *heap)
{
    heap->rooms.flushes = INT64_MIN;
}

static inline void drain_ends(struct heap *heap)
{
    heap->rooms.flushes = 0;
}
