/* Remote free "owner's batches": what the emitted free calls, and what it emits. */
#pragma once

#include "3_records/heap.h"

void remote_free(struct heap *owner, unsigned class, void *block); /* by another thread than the owner's */

/* Emitted: the calling thread's heap, which it gets now if it has none. With a quarantine it has been asked for already. */
struct heap *hs_heap_to_free(void);

void remote_heap_drains(struct heap *heap); /* what its thread freed goes to the owners */
