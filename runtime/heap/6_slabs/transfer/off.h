/* Transfer cache "off": flushes go to the store, and refills come from there. Adds nothing to struct heap. */
#pragma once

#include "6_slabs/store.h"

#define TRANSFER_VIEW /* no block waits there */

static inline void hs_transfer_flush(struct heap *heap, unsigned class, void *const *blocks)
{
    hs_give_all(heap, class, blocks, hs_class[class].flush);
}

static inline uint32_t hs_transfer_take(struct heap *heap, unsigned class, void **blocks)
{
    return 0;
}

static inline void hs_transfer_empty(void)
{
}

static inline void hs_transfer_check(void)
{
}

static inline void hs_transfer_reset(void)
{
}
