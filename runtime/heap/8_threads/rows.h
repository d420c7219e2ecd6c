/* The rows of a new heap. */
#pragma once

#include "3_records/heap.h"

void hs_rows_init(struct heap *heap);
