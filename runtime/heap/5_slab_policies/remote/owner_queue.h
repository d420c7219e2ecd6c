/* Remote free "owner's queue": what the emitted free calls. */
#pragma once

#include "3_records/heap.h"

void remote_free(struct heap *owner, unsigned class, void *block); /* by another thread than the owner's */
void remote_heap_adopted(struct heap *heap);
