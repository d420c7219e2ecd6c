/* Block index "reciprocal": by a multiplication and a shift. */
#pragma once

#include "3_records/heap.h"

/* What block_index needs of a class. */
static inline uint64_t block_index_by(unsigned class)
{
    return hs_class[class].reciprocal;
}

static inline size_t block_index(size_t inside, uint64_t by)
{
    return (inside * by) >> RECIPROCAL_SHIFT;
}
