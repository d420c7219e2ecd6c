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

#ifdef RELEASE_LOOKS
bool release_look_due(void); /* it is time for a look, which the caller makes now */
#endif

/* Do the committed bytes exceed the design's share of the limit on memory? */
#ifdef LIMIT_PERCENT
bool release_near_limit(void);
void release_limit(uint64_t bytes); /* in place of the system's limit, not of the design's; 0: none */
void release_limit_start(void);     /* asks the system for the limit, unless somebody told it */
#else
static inline bool release_near_limit(void)
{
    return false;
}

static inline void release_limit(uint64_t bytes)
{
    (void)bytes;
}

static inline void release_limit_start(void)
{
}
#endif

#ifdef RELEASE_DELAY
void release_freed(size_t bytes); /* a run or a huge block; under the large lock */
uint64_t release_clock(void);     /* the stamp of what joins an age queue now */
#else
static inline void release_freed(size_t bytes)
{
}

static inline uint64_t release_clock(void)
{
    return 0;
}
#endif
