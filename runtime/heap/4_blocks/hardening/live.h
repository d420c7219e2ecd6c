/* What the emitted malloc and free of hardened heaps do with the live map (live.c). */
#pragma once

#include "3_records/span.h"

enum { LIVE = 1, FREED = 2 }; /* LIVE is a bit (deletes/judged.c); 0: no block that was ever handed out begins here */

/* The last words about a block of the slab span that is not live. */
void hs_not_live(const void *block, const char *what_if_freed) __attribute__((noreturn, cold));

static inline bool hs_is_live(uintptr_t offset)
{
    return offset % GRAIN == 0 && (hs_live[offset / GRAIN] & LIVE) != 0;
}

/* A block of the span goes to the program. */
static inline void *hs_born(void *block)
{
    hs_live[((uintptr_t)block - hs_span) / GRAIN] = LIVE;
    return block;
}

/* The same for any block; large blocks (and NULL) lie outside the span. */
static inline void *hs_born_any(void *block)
{
    return in_slab_span(block) ? hs_born(block) : block;
}

/* The program frees a block of the span. */
static inline void hs_dies(const void *block)
{
    uintptr_t offset = (uintptr_t)block - hs_span;
    if (!hs_is_live(offset))
        hs_not_live(block, "double free");
    hs_live[offset / GRAIN] = FREED;
}
