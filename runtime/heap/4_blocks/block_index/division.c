/* Block index "division": by the stride. */
#include "3_records/heap.h"

#define BLOCK_INDEX_BY 1

static inline uint64_t block_index_by(unsigned class)
{
    return hs_class[class].stride;
}

static inline size_t block_index(size_t inside, uint64_t by)
{
    return inside / by;
}
