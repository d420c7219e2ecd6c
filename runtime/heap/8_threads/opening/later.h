/* A stack keeps no block until its class has missed some times in the heap. */
#pragma once

#include "3_records/heap.h"

extern const uint32_t hs_opens_after[CLASS_COUNT]; /* 0: at once */

static inline bool opening_is_closed(struct heap *heap, unsigned class)
{
    return !stack_is_open(heap, class) && heap->rooms.missed[class] < hs_opens_after[class];
}

/* Counts a miss. While it stays closed a miss brings one block. */
static inline bool opening_stays_closed(struct heap *heap, unsigned class)
{
    return opening_is_closed(heap, class) && ++heap->rooms.missed[class] < hs_opens_after[class];
}
