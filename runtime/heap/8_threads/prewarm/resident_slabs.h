/* Prewarm "resident_slabs": a new heap has superslabs of its own, whose slabs wait in its pool, resident. */
#pragma once

#include "3_records/heap.h"

#define PREWARMS 1

void prewarm(struct heap *heap); /* the calling thread's new heap */
