/* No stamp: an age queue has an order and no times. */
#pragma once

enum { RUN_STAMP_BYTES = 0 };

static inline void release_freed(size_t bytes)
{
    (void)bytes;
}

static inline uint64_t release_clock(void)
{
    return 0;
}
