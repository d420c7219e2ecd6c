/* Rounding "larger": the fronts of larger classes lend a block to an empty one. */
#pragma once

#include "3_records/heap.h"

enum { FRONTS_LEND = 1 };

extern void *(*const hs_lend[CLASS_COUNT])(struct heap *heap, unsigned class); /* level 0's next block; NULL: none */

bool rounding_take_wanted(struct heap *heap, unsigned class, void **block);
