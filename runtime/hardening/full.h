/* Hardening "full": what the emitted malloc and free call. */
#pragma once

#include "hardening/live.h"

void *hs_hand_out(void *block, size_t bytes);
void *hs_take_back(struct heap *heap, void *block); /* into its quarantine; the block that leaves that for it, or NULL */
