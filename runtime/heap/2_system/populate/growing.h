/* Populate "growing": fresh blocks of a class with many slabs bring several pages at once. */
#pragma once

#include "1_base/cold.h"

#include <stddef.h>

#include "2_system/populate/page.h"

void populate_slab_acquired(unsigned class); /* the class has one more slab */
void populate_slab_retired(unsigned class);  /* one less */
size_t populate_step(unsigned class, size_t stride); /* by which the committed bytes of its slabs rise now */
void populate_carved(void *start, size_t bytes, size_t step);
COLD void populate_reset(void); /* checked build */
