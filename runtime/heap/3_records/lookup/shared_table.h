/* Size lookup "shared table": an entry for LOOKUP_GRAIN bytes, the same for all heaps. */
#pragma once

#include <stddef.h>
#include <stdint.h>

extern const uint8_t hs_size_class[];

static inline unsigned size_to_class(size_t bytes)
{
    return hs_size_class[(bytes + SIZE_BIAS + LOOKUP_GRAIN - 1) / LOOKUP_GRAIN];
}
