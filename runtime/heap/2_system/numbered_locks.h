/* Numbered locks, which a thread that forks holds over the fork: of shards, of transfer caches and then of stores, of which a
 * thread takes one of each at most, in this order, and before the pool lock; then of heaps, of processors without restartable
 * sequences or of their remote lists, under which nobody takes another. */
#pragma once

#include <stdbool.h>

#include "1_base/counting/counting.h" /* who takes a lock says what for */
#include "plan.h"

void hs_lock_number(unsigned number);
void hs_unlock_number(unsigned number);
bool hs_holds_number(unsigned number);
