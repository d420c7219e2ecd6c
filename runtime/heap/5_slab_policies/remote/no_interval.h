/* Flushes are not counted. */
#pragma once

#include "3_records/heap.h"

static inline void drain_begins(struct heap *heap)
{
    (void)heap;
}

static inline void drain_ends(struct heap *heap)
{
    (void)heap;
}
