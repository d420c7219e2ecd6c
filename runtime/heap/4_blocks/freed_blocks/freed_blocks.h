/* Freed blocks of a slab: how they are kept, and which goes first. The functions do not count: slab->freed and slab->out are the store's. */
#pragma once

#include FREED_BLOCKS_ROW

#include "4_blocks/slab_numbers.h"

/* The number of freed blocks that a take may have. */
static inline uint32_t freed_ready(const struct slab *slab)
{
    return FREED_SERVE ? slab->freed : 0;
}

static inline bool slab_available(const struct slab *slab, unsigned class)
{
    return freed_ready(slab) > 0 || slab->carved < slab_blocks(slab, class);
}
