/* Frees between drains are counted. */
#pragma once

/* Frees of a drain do not count, and after it the count begins anew. */
static inline void drain_begins(struct heap *heap)
{
    heap->rooms.frees_left = INT64_MAX;
}

static inline void drain_ends(struct heap *heap)
{
    heap->rooms.frees_left = DRAIN_FREES;
}
