/* Populate: committed memory becomes resident at once, where the design has a kind of it. */
#pragma once

#include <stddef.h>

#include "plan.h"

#ifndef POPULATES
enum { COMMIT_STEP = PAGE_BYTES }; /* by which the committed bytes of a slab and below top rise */

static inline void populate(void *start, size_t bytes)
{
}
#endif
