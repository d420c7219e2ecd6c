/* What was freed counts as time. */
#pragma once

enum { RUN_STAMP_BYTES = sizeof(uint64_t) };

void release_freed(size_t bytes); /* a run or a huge block; under the large lock */
uint64_t release_clock(void);     /* the stamp of what joins an age queue now */

/* Only the differences of stamps count. */
static inline void release_reset_clock(void)
{
}
