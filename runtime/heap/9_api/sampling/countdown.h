/* Sampling "countdown": malloc counts each request. */
#pragma once

#include "9_api/sampling/draws.h"

/* Another mean is known to each thread at its next request that is due. */
static inline void sampling_leads(void)
{
}

static inline void *sampling_aligned(size_t bytes, size_t alignment, size_t size)
{
    return draws_aligned(bytes, alignment, size);
}

/* Is a realloc of a small block due? Then the block moves. */
static inline bool sampling_moves(size_t bytes)
{
    return bytes > hs_until_sample;
}

/* A realloc has left a block where it was, or remapped it; a small one's is not due. */
static inline void sampling_stayed(void *block, size_t bytes, bool large)
{
    if (large)
        sampling_resized(block, bytes);
    else
        hs_until_sample -= bytes;
}
