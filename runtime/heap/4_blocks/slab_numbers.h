/* The numbers of a slab's class: from the table of classes or from the record of the slab (docs/machine.md section 6). */
#pragma once

#include "4_blocks/block_index/block_index.h"
#include "3_records/span.h"

#ifdef RECORD_CLASS_BYTES
/* The slab has a class now. */
static inline void slab_sized(struct slab *slab, unsigned class)
{
    slab->stride = hs_class[class].stride;
    slab->blocks = hs_class[class].blocks;
    slab->index_by = block_index_by(class);
}

static inline uint32_t slab_stride(const struct slab *slab, unsigned class)
{
    return slab->stride;
}

static inline uint32_t slab_blocks(const struct slab *slab, unsigned class)
{
    return slab->blocks;
}

static inline uint64_t slab_index_by(const struct slab *slab, unsigned class)
{
    return slab->index_by;
}
#else
static inline void slab_sized(struct slab *slab, unsigned class)
{
}

static inline uint32_t slab_stride(const struct slab *slab, unsigned class)
{
    return hs_class[class].stride;
}

static inline uint32_t slab_blocks(const struct slab *slab, unsigned class)
{
    return hs_class[class].blocks;
}

static inline uint64_t slab_index_by(const struct slab *slab, unsigned class)
{
    return block_index_by(class);
}
#endif

static inline bool slab_available(const struct slab *slab, unsigned class)
{
    return slab->freed > 0 || slab->carved < slab_blocks(slab, class);
}
