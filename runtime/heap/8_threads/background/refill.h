/* Background "refill": a helper tops up the transfer cache. */
#pragma once

#include "1_base/cold.h"
#include "3_records/heap.h"

void background_front_missed(struct heap *heap, unsigned class);
void background_inspection(void); /* from here on there is no helper; it is in no step any more */
COLD void background_reset(void);
