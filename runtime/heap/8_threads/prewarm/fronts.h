/* Prewarm "fronts": a new heap's fronts hold blocks from the start, so a refill that made its heap looks again. */
#pragma once

#include "3_records/heap.h"

enum { PREWARM_FILLS = 1 }; /* a new heap's fronts may hold blocks */

void prewarm_heap_started(struct heap *heap);
