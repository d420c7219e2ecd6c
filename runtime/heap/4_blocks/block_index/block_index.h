/* Block index: the number of a block in its slab, from its distance to the slab's first block. */
#pragma once

#include "3_records/heap.h"

#ifndef BLOCK_INDEX_BY
/* What block_index needs of a class. */
static inline uint64_t block_index_by(unsigned class)
{
    return hs_class[class].reciprocal;
}

static inline size_t block_index(size_t inside, uint64_t by)
{
    return (inside * by) >> RECIPROCAL_SHIFT;
}
#endif
