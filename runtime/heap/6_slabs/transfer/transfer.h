/* The transfer cache: batches flushed by one heap for another's refill (docs/machine-rooms.md). All take the store's
 * lock, but for the last two.
 *
 * hs_transfer_flush: kept, or given to the store.
 * hs_transfer_take: a refill: the newest batch, as it was flushed; 0: none.
 * hs_transfer_empty: all of it goes to the store.
 * hs_transfer_check: for the checked build. */
#pragma once

#include "1_base/cold.h"
#include "3_records/heap.h"

#include TRANSFER_ROW
