/* Milliseconds, of the system's coarse clock or as they are told. */
#pragma once

enum { RUN_STAMP_BYTES = sizeof(uint64_t) };

void release_freed(size_t bytes); /* a run or a huge block; under the large lock */
uint64_t release_clock(void);     /* the stamp of what joins an age queue now */
void release_reset_clock(void);   /* nobody has looked */
