/* Slabs: to a class and back, and their pages. */
#pragma once

#include "1_base/cold.h"
#include "3_records/span.h"
#include "5_slab_policies/release/release.h"

extern struct slab *hs_last_slab; /* the slab handed out last, under the pool lock */

size_t slabs_space(void); /* bytes of the slab span and its tables */
void slabs_init(void);
COLD size_t slabs_vacate(void); /* what is only reserved is unmapped; bytes. Under the pool lock */
void slabs_unmap_ahead(void);   /* and then what growth made usable before a superslab needs it. Under the pool lock */
struct slab *slabs_acquire(struct heap *heap, unsigned class); /* for the class; NULL without memory */
bool slabs_map(struct heap *heap, unsigned class, struct superslab *superslab); /* opens a new one; under the pool lock */
void slabs_retire(struct heap *heap, struct slab *slab); /* it is empty */
bool slab_give_back(struct slab *slab, bool lazily); /* an empty one's pages; false: the system refuses. Under the pool lock */
void slab_count_release(struct slab *slab); /* they went back */
COLD void slabs_census(size_t *slab_bytes, size_t *out_bytes); /* committed to slabs; of that in blocks that are out */
COLD void slabs_check(void);                /* checked build */
COLD void slabs_reset(size_t span_bytes);   /* checked build */

/* The pages of empty slabs that are due go back. Under the pool lock. */
static inline void slabs_release_due(void)
{
    uint32_t gone = 0;
    for (struct slab *due = release_due(gone); due != NULL && slab_give_back(due, RELEASE_LAZILY); due = release_due(gone))
        gone++;
}
