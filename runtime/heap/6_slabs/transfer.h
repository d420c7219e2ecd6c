/* The transfer cache: batches flushed by one heap for another's refill. All take the store's lock, but for the last two. */
#pragma once

#include "1_base/cold.h"
#include "3_records/heap.h"

void hs_transfer_flush(struct heap *heap, unsigned class, void *const *blocks); /* kept, or given to the store */
uint32_t hs_transfer_take(struct heap *heap, unsigned class, void **blocks); /* a refill: the newest batch, as it was flushed; 0: none */
COLD void hs_transfer_empty(void); /* all of it goes to the store */
COLD void hs_transfer_check(void); /* checked build */
COLD void hs_transfer_reset(void);
