/* Release: pages back to the OS. */
#pragma once

#include "span.h"

void release_retired(struct slab *slab); /* under the pool lock */
struct slab *release_due(void);          /* the next slab whose pages should go back, or NULL; under the pool lock */
void release_reused(struct slab *slab);  /* it left the pool; under the pool lock */
void release_needed_runs(size_t bytes);  /* of free runs whose pages had gone back; under the large lock */
bool release_keeps_runs(size_t bytes);   /* may free runs keep this sum of committed bytes? */
void release_check(void);                /* checked build */
void release_reset(void);
