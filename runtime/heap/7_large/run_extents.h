/* Extents of free runs: neighbouring pages that the system has given, or not, alike (docs/machine-rooms.md, 'release').
 * Under the large lock. */
#pragma once

#include "1_base/cold.h"

#include <stdbool.h>
#include <stdint.h>

#include "7_large/run_pages.h"

enum extent_kind {
    EXTENT_COMMITTED, /* handed out since it was last released, or on huge pages below round_up(top, 512) */
    EXTENT_RELEASED,  /* reads as zero, unless released lazily */
    EXTENT_SEALED,    /* released, and address space only */
};

void extent_set(uint32_t first, uint32_t length, enum extent_kind kind);
void extent_join(uint32_t page); /* the extents that end before a page and begin at it become one if they are alike */
uint32_t extents_take(uint32_t first, uint32_t length); /* a run's low pages leave it: how many were committed */
bool extents_unseal(uint32_t first, uint32_t length); /* a run's low pages are made writable, if any are not; false without memory */
void extents_close(uint32_t first, uint32_t length); /* they were opened in vain: all as before */
uint32_t extents_seal(uint32_t first, uint32_t length); /* a run becomes address space only: how many of its pages were more */
bool extents_release(uint32_t first, uint32_t length, bool lazily); /* a run's pages go back; false, and as before, if the OS refuses */
COLD uint32_t extents_check(uint32_t first, uint32_t length); /* of a run: its committed pages */

/* The end of the extent that begins at a page, or of a run's low pages if that comes first. */
static inline uint32_t extent_end(uint32_t page, uint32_t end)
{
    uint32_t behind = page + hs_runs.page[page].extent;
    return behind < end ? behind : end;
}

/* Few processes ever seal one. */
static inline bool extents_open(uint32_t first, uint32_t length)
{
    return !hs_runs.sealed || extents_unseal(first, length);
}
