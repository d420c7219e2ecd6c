/* A slab's record holds a copy of its class's numbers. */
#pragma once

struct slab_numbers {
    uint32_t stride;
    uint32_t blocks;
    uint64_t index_by; /* what block_index needs of the class */
};
