/* Prewarm "resident_slabs": a new heap has superslabs of its own, whose slabs wait in its pool, resident. */
#pragma once

#include "3_records/heap.h"

enum { PREWARM_FILLS = 0 }; /* a new heap's fronts may hold blocks */

void prewarm_heap_started(struct heap *heap);

static inline void prewarm_superslab_late(void)
{
    count_own(&hs_count.superslabs_late, 1);
}
