/* Hardening "full": what the emitted malloc and free call. */
#ifndef HEAPSMITH_HARDENING_FULL_H
#define HEAPSMITH_HARDENING_FULL_H

#include "hardening/live.h"

#pragma GCC visibility push(hidden)

void *hs_hand_out(void *block);
void *hs_take_back(void *block); /* the block that leaves the quarantine for it; NULL if none does */

#pragma GCC visibility pop

#endif
