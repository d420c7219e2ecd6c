/* Populate "batches": committed memory rises by batches of pages, which one call makes resident. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "plan.h"

#define COMMIT_STEP ((size_t)POPULATE_BYTES < PAGE_BYTES ? (size_t)PAGE_BYTES : POPULATE_BYTES)

void populate(void *start, size_t bytes); /* whole pages that hold nothing: a byte of each may change */
void populate_run_taken(uint32_t first, uint32_t length); /* those of a free run's low pages that are not committed */

static inline size_t populate_step(unsigned class, size_t stride)
{
    (void)class, (void)stride;
    return COMMIT_STEP;
}

static inline void populate_carved(void *start, size_t bytes, size_t step)
{
    (void)step;
    populate(start, bytes);
}
