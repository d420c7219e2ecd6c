/* The life of heaps. */
#pragma once

#include "1_base/cold.h"
#include "3_records/heap.h"

bool hs_started(void);                   /* the spans exist, now if not before; false without address space */
struct heap *hs_heap_create(void);       /* a new one; NULL without memory. Under the pool lock */
void hs_drain_fronts(struct heap *heap); /* every block of its fronts goes to the store; by its own thread */
COLD void hs_forget_heaps(void);         /* checked build: as if no thread had ever allocated */
