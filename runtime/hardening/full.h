/* Hardening "full": what the emitted malloc and free call. */
#ifndef HEAPSMITH_HARDENING_FULL_H
#define HEAPSMITH_HARDENING_FULL_H

#include "hardening/live.h"

#pragma GCC visibility push(hidden)

void *hs_hand_out(void *block);
void *hs_take_back(struct heap *heap, void *block); /* into its quarantine; the block that leaves that for it, or NULL */

#pragma GCC visibility pop

#endif
