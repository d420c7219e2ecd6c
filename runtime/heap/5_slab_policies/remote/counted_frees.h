/* Frees between drains are counted: those of own blocks by the emitted free. */
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

/* This thread has freed a block of another heap. */
static inline void freed_elsewhere(void)
{
    struct heap *heap = hs_self;
    if (heap == &hs_no_heap || --heap->rooms.frees_left > 0)
        return;
    heap->rooms.frees_left = DRAIN_FREES;
    remote_drain_due(heap);
}
