/* Populate "off": the program's first touch makes a page resident. */
#pragma once

#include "2_system/populate/page.h"

static inline size_t populate_step(unsigned class, size_t stride)
{
    return COMMIT_STEP;
}

static inline void populate_carved(void *start, size_t bytes, size_t step)
{
}
