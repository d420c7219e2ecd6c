/* Populate: committed memory becomes resident at once, where the design has a kind of it. populate: of both spans;
 * populate_carved: of a slab. */
#pragma once

#include <stddef.h>

#include "plan.h"

#ifndef POPULATES
enum { COMMIT_STEP = PAGE_BYTES }; /* by which the committed bytes of a slab and below top rise */

static inline void populate(void *start, size_t bytes)
{
}
#endif

#ifndef POPULATES_GROWING
static inline void populate_acquired(unsigned class)
{
}

static inline void populate_retired(unsigned class)
{
}

static inline void populate_reset(void)
{
}

static inline size_t populate_step(unsigned class, size_t stride)
{
    return COMMIT_STEP;
}

static inline void populate_carved(void *start, size_t bytes, size_t step)
{
    populate(start, bytes);
}
#endif
