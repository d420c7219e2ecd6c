/* What C++'s operators ask of the live map (deletes.c has the operators that only hardened heaps define). */
#pragma once

#include "hardening/live.h"

/* Marks of live blocks: LIVE is a bit of each. Large blocks have none. */
enum { OF_NEW = LIVE | 4, OF_ARRAY_NEW = LIVE | 8 };

static inline uint8_t *hs_made_by(const void *block)
{
    uintptr_t offset = (uintptr_t)block - hs_span;
    return offset < hs_span_bytes && hs_is_live(offset) ? &hs_live[offset / GRAIN] : NULL;
}
