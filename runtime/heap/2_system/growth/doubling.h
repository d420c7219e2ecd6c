/* Growth "doubling": superslabs become usable in steps, each twice as long as the one before. Under the pool lock. */
#pragma once

#include "1_base/cold.h"

#include <stddef.h>

size_t growth_usable(size_t region, size_t mapped); /* bytes from the region's start */
size_t growth_step(size_t region);                  /* bytes that should become usable next */
void growth_rose(size_t region, size_t usable);     /* they did: the next step is twice as long */
void growth_fell(size_t region, size_t usable);     /* they are fewer from now on: those of its superslabs */
COLD void growth_reset(void);
