/* The slab span, before it is reserved. */
#include "3_records/span.h"

uintptr_t hs_span = NO_SPAN;
size_t hs_span_bytes;
struct slab *hs_slabs;
uint64_t *hs_marks;
uint8_t *hs_live;
