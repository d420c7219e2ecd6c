/* Block index "shift": every stride is a power of two. */
#pragma once

#include "3_records/heap.h"

extern const uint32_t hs_stride_shift[CLASS_COUNT];

static inline uint64_t block_index_by(unsigned class)
{
    return hs_stride_shift[class];
}

static inline size_t block_index(size_t inside, uint64_t by)
{
    return inside >> by;
}
