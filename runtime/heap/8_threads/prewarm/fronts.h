/* Prewarm "fronts": a new heap's fronts hold blocks from the start, so a refill that made its heap looks again. */
#pragma once

#include "3_records/heap.h"

#define PREWARMS 1
#define PREWARMS_FRONTS 1

void prewarm(struct heap *heap); /* the calling thread's new heap */
