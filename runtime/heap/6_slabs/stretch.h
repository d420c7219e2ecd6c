/* Fresh blocks of one slab, one behind the other: for fronts that take them by a pointer that moves. */
#pragma once

#include "3_records/heap.h"

struct stretch {
    struct block *first;
    uint32_t blocks;
};

/* Up to `most` fresh blocks of one slab: a stretch. If the slab has a freed block that serves, then `want` blocks as hs_take,
 * and no stretch: how many of those. Takes the store's lock. */
uint32_t hs_carve(struct heap *heap, unsigned class, void **blocks, uint32_t want, uint32_t most, struct stretch *stretch);

/* The next block of a stretch of blocks of `stride` bytes; the stretch begins with the block behind it then. */
static inline void *hs_bumped(struct block **next, size_t stride)
{
    struct block *block = *next;
    *next = (struct block *)(void *)((char *)block + stride);
    return block;
}
