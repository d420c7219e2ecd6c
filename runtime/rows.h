/* The rows of a new heap. */
#pragma once

#include "heap.h"

void hs_rows_init(struct heap *heap);
