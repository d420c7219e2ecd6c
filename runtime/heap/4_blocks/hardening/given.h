/* Hardening "basic": is an address the start of a block? The number of the block in its slab, which a look at the slab's marks
 * needs anyway, tells. */
#pragma once

#include "4_blocks/slab_numbers.h"

#define NOT_A_START "not the start of a block"

/* `inside`: from the slab's first block on. Below `carved`, so that the product does not wrap. */
static inline bool given_begins(size_t index, size_t inside, uint32_t stride, uint32_t carved)
{
    return index < carved && index * stride == inside;
}

/* Of a block that the slab has handed out? */
static inline bool given_is_start(struct slab *slab, unsigned class, const void *block)
{
    size_t inside = (uintptr_t)block - (uintptr_t)slab_start(slab) - hs_class[class].first;
    size_t index = block_index(inside, slab_index_by(slab, class));
    return given_begins(index, inside, slab_stride(slab, class), slab->carved);
}
