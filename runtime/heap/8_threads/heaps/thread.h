/* Heaps of threads. */
#pragma once

#include "3_records/heap.h"

struct heap *hs_heap_start(void); /* the calling thread's heap, adopted or created; hs_no_heap without memory */
struct heap *hs_own_heap(void);   /* the calling thread's; hs_no_heap without any */
void heaps_begin(void);
void heaps_forget(void);
