/* Size lookup "heap table": an entry for GRAIN bytes, beside the rows of a heap, where malloc goes by rows. */
#pragma once

#include <stddef.h>
#include <stdint.h>

extern const uint8_t hs_size_class[];

static inline unsigned size_to_class(size_t bytes)
{
    return hs_size_class[(bytes + SIZE_BIAS + GRAIN - 1) / GRAIN];
}
