/* A stack keeps no block until its class has missed some times in the heap; refills grow, and unused blocks go back. */
#pragma once

#include "2_system/counters.h"
#include "3_records/heap.h"
#include "3_records/opening/opens_after.h"

void opening_look(struct heap *heap); /* what idle stacks hold goes to the store */

static inline bool opening_is_closed(struct heap *heap, unsigned class)
{
    return !stack_is_open(heap, class) && heap->rooms.opened[class].missed < hs_opens_after[class];
}

/* Counts a free. While the stack stays closed it keeps no block. */
static inline bool opening_gives_back(struct heap *heap, unsigned class)
{
    if (!opening_is_closed(heap, class))
        return false;
    struct opened *opened = &heap->rooms.opened[class];
    if (OPENS_BY_FREES == 0 || ++opened->freed < OPENS_BY_FREES)
        return true;
    opened->missed = (uint8_t)hs_opens_after[class];
    return false;
}

/* Of a compact stack that is full: did frees open it? */
static inline bool opening_gathers(struct heap *heap, unsigned class)
{
    return OPENS_BY_FREES > 0 && heap->rooms.opened[class].freed >= OPENS_BY_FREES;
}

/* Counts a miss. While it stays closed a miss brings one block. */
static inline bool opening_stays_closed(struct heap *heap, unsigned class)
{
    return opening_is_closed(heap, class) && ++heap->rooms.opened[class].missed < hs_opens_after[class];
}

/* A miss: has the heap grown enough since its last look at its stacks? */
static inline void opening_missed(struct heap *heap)
{
    if (IDLE_PERCENT == 0)
        return;
    uint64_t committed = __atomic_load_n(&hs_count.committed, __ATOMIC_RELAXED);
    if (committed < heap->rooms.idle_mark)
        return;
    heap->rooms.idle_mark = committed + committed / 100 * IDLE_PERCENT + SLAB_BYTES;
    opening_look(heap);
}

/* How many of `refill` blocks a refill wants: each of a heap's first ones twice as many as the one before. */
static inline uint32_t opening_wants(struct heap *heap, unsigned class, uint32_t refill)
{
    if (FIRST_BLOCKS == 0 || hs_opens_after[class] == 0)
        return refill;
    struct opened *opened = &heap->rooms.opened[class];
    const uint32_t wanted = (uint32_t)FIRST_BLOCKS << opened->refills;
    if (wanted >= refill)
        return refill;
    opened->refills++;
    return wanted;
}
