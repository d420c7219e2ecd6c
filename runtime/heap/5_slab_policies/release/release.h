/* Release: pages back to the OS. */
#pragma once

#include "1_base/cold.h"
#include "3_records/span.h"

void release_retired(struct slab *slab); /* under the pool lock */
struct slab *release_due(uint32_t gone); /* the next slab whose pages should go back after `gone` of this event, or NULL; under
                                          * the pool lock */
void release_reused(struct slab *slab); /* it left the pool; under the pool lock */
void release_needed_runs(size_t bytes); /* of free runs whose pages had gone back; under the large lock */
COLD void release_check(void);          /* checked build */
COLD void release_reset(void);

/* Does the oldest run of the age queue give its pages back? It joined at `stamp`; the queue has `bytes` committed
 * bytes; `gone` runs went at this free already. Under the large lock. */
bool release_run_goes(uint64_t stamp, size_t bytes, uint32_t gone);

bool release_look_due(void);       /* it is time for a look, which the caller makes now; of rows that look */
bool release_large_look_due(void); /* the same, where a thread got a large block */

/* Do the committed bytes exceed the design's share of the limit on memory? */
#include RELEASE_LIMIT

/* The stamp of what joins an age queue, and what makes it rise. */
#include RELEASE_CLOCK
