/* Committed memory rises by single pages, and nothing makes it resident. */
#pragma once

#include <stddef.h>

#include "plan.h"

#define COMMIT_STEP PAGE_BYTES /* by which the committed bytes of a slab and below top rise */

static inline void populate(void *start, size_t bytes)
{
    (void)start, (void)bytes;
}
