/* Size lookup "computed": up to twice 2^LOOKUP_EVEN_LOG2 bytes sizes are evenly spaced, and each doubling beyond has
 * 2^LOOKUP_STEPS_LOG2 of them. */
#pragma once

#include <stddef.h>

static inline unsigned size_to_class(size_t bytes)
{
    size_t last = bytes + SIZE_BIAS - (SIZE_BIAS > 0 || bytes > 0); /* the number of the last byte that must fit */
    unsigned log2 = 63 ^ (unsigned)__builtin_clzl(last | 1ul << LOOKUP_EVEN_LOG2);
    return ((log2 - LOOKUP_EVEN_LOG2) << LOOKUP_STEPS_LOG2) + (unsigned)(last >> (log2 - LOOKUP_STEPS_LOG2));
}
