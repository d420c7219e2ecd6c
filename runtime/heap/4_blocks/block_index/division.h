/* Block index "division": by the stride. */
#pragma once

#include "3_records/heap.h"

static inline uint64_t block_index_by(unsigned class)
{
    return hs_class[class].stride;
}

static inline size_t block_index(size_t inside, uint64_t by)
{
    return inside / by;
}
