/* No limit on memory that the heap keeps away from. */
#pragma once

static inline bool release_near_limit(void)
{
    return false;
}

static inline void release_limit(uint64_t bytes)
{
    (void)bytes;
}

static inline void release_limit_start(void)
{
}
