/* The numbers of a slab's class: out of its record. */
#pragma once

/* The slab has a class now. */
static inline void slab_sized(struct slab *slab, unsigned class)
{
    slab->numbers.stride = hs_class[class].stride;
    slab->numbers.blocks = hs_class[class].blocks;
    slab->numbers.index_by = block_index_by(class);
}

static inline uint32_t slab_stride(const struct slab *slab, unsigned class)
{
    return slab->numbers.stride;
}

static inline uint32_t slab_blocks(const struct slab *slab, unsigned class)
{
    return slab->numbers.blocks;
}

static inline uint64_t slab_index_by(const struct slab *slab, unsigned class)
{
    return slab->numbers.index_by;
}
