/* No front: the slow paths. */
#pragma once

#include "heap.h"

void *none_alloc(struct heap *heap, unsigned class);
void none_free(struct heap *heap, unsigned class, void *block);
