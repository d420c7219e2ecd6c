/* Unmapping "superslabs": empty superslabs beyond some are unmapped, and mapped again before the span grows. Under the pool
 * lock. */
#pragma once

#include "1_base/cold.h"
#include "3_records/span.h"

void unmapping_mapped(size_t offset);                             /* a superslab, which has all its slabs */
bool unmapping_undone(size_t region, size_t *offset, bool *huge); /* one is mapped again; false: none is */
void unmapping_reused(struct slab *slab);                         /* it left its pool */
void unmapping_retired(struct heap *heap, struct slab *slab);     /* it lies in its pool: its superslab may go */
size_t unmapping_vacate(void);                                    /* what is only reserved is unmapped; bytes */
COLD void unmapping_check(const size_t mapped[REGIONS]);          /* checked build */
COLD void unmapping_reset(void);                                  /* checked build */
