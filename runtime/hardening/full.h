/* Hardening "full": what the emitted malloc and free call. */
#ifndef HEAPSMITH_HARDENING_FULL_H
#define HEAPSMITH_HARDENING_FULL_H

#include "hardening/live.h"

#pragma GCC visibility push(hidden)

void *hs_hand_out(void *block);
void *hs_take_back(void *block); /* the block that leaves the quarantine for it; NULL if none does */
void hs_free_small(void *block); /* emitted: sections 4 and 7, of a block that left the quarantine */

#pragma GCC visibility pop

#endif
