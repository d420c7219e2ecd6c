/* The numbers of a slab's class: out of the table of classes. */
#pragma once

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
