/* The place of a huge block: its pages, and room behind them where it grows (docs/machine.md, 'huge blocks'). */
#pragma once

#include "7_large/huge_cache/huge_cache.h"

size_t huge_place_bytes(struct huge block);                 /* of address space, without guards */
bool huge_place_resize(struct huge *block, size_t pages); /* moved, perhaps; false leaves it as it was */
void huge_place_cut(struct huge *block);                  /* it has no room from now on */
