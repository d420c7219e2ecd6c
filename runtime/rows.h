/* The rows of a new heap. */
#ifndef HEAPSMITH_ROWS_H
#define HEAPSMITH_ROWS_H

#include "heap.h"

#pragma GCC visibility push(hidden)

void hs_rows_init(struct heap *heap);

#pragma GCC visibility pop

#endif
