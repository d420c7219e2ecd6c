/* No front: the slow paths. */
#pragma once

#include "3_records/heap.h"

void *none_alloc(struct heap *heap, unsigned class);
void none_free(struct heap *heap, unsigned class, void *block);
