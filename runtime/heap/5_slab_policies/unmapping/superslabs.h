/* Unmapping "superslabs": empty superslabs beyond some are unmapped, and mapped again before the span grows. Under the pool
 * lock. */
#pragma once

#include "1_base/cold.h"
#include "3_records/span.h"

void unmapping_superslab_ready(struct heap *heap, size_t offset);
bool unmapping_superslab_wanted(size_t region, size_t *offset, bool *huge); /* one is mapped again */
void unmapping_slab_reused(struct slab *slab);
void unmapping_slab_pooled(struct heap *heap, struct slab *slab); /* its superslab may go */
size_t unmapping_vacate(void);
COLD void unmapping_check(const size_t *mapped);
COLD void unmapping_reset(void);

/* In a pool, what lies above a slab: slabs leave it from the middle. A scan may look at the field meanwhile. */
static inline void unmapping_slab_covered(struct slab *slab, struct slab *above)
{
    if (slab != NULL)
        __atomic_store_n(&slab->above, above, __ATOMIC_RELAXED);
}

/* A slab whose superslab was unmapped is on the list of all slabs since it was handed out first. */
static inline bool unmapping_slab_claimed(struct slab *slab)
{
    bool again = slab->unmapped;
    if (again)
        slab->unmapped = false;
    return again;
}
