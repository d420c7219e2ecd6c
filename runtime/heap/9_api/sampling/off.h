/* Sampling "off": no request is a sample. */
#pragma once

#include "8_threads/large.h"

static inline bool sampling_told(uint64_t mean)
{
    (void)mean;
    return false;
}

static inline bool sampling_switches(uint64_t mean)
{
    (void)mean;
    return false;
}

static inline void sampling_switch(void)
{
}

static inline void sampling_frees(void *block)
{
    (void)block;
}

static inline uint64_t sampling_number(const void *block)
{
    (void)block;
    return 0;
}

static inline void sampling_left(void *block, void *resized, uint64_t number)
{
    (void)block, (void)resized, (void)number;
}

static inline size_t sampling_usable(const void *block, size_t bytes)
{
    (void)block;
    return bytes;
}

static inline bool sampling_moves(size_t bytes)
{
    (void)bytes;
    return false;
}

static inline void sampling_stayed(void *block, size_t bytes, bool large)
{
    (void)block, (void)bytes, (void)large;
}

static inline void *sampling_large(size_t bytes, size_t alignment, bool *zero)
{
    return hs_large_alloc(bytes, alignment, zero);
}

static inline void *sampling_aligned(size_t bytes, size_t alignment, size_t size)
{
    (void)bytes, (void)alignment, (void)size;
    return NULL;
}
