/* The store: blocks of a class out of its slabs and back. */
#pragma once

#include "1_base/bound.h"
#include "3_records/heap.h"

/* Blocks lie as a stack holds them: the last place has the first block of the take. hs_take returns their number. */
uint32_t hs_take(struct heap *heap, unsigned class, void **blocks, uint32_t want); /* a refill; takes the store's lock */
void hs_give(struct heap *heap, unsigned class, void *block, unsigned *held); /* between remote_give_begin and _end */
void hs_give_batch(struct heap *heap, unsigned class, void *const *blocks, uint32_t count, unsigned *held); /* likewise */
void hs_give_all(struct heap *heap, unsigned class, void *const *blocks, uint32_t count);

/* Blocks as a stack holds them become blocks in the order of their take. */
static inline void hs_reverse(void **blocks, uint32_t count)
{
    ROUNDS(reversed);
    for (uint32_t low = 0; 2 * low + 1 < count; low++) {
        BOUND(reversed, MOST_REFILL);
        void *block = blocks[low];
        blocks[low] = blocks[count - 1 - low];
        blocks[count - 1 - low] = block;
    }
}
