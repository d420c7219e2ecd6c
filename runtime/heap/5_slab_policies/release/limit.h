/* A limit on memory, of which the heap keeps a share free. */
#pragma once

bool release_near_limit(void);
void release_limit(uint64_t bytes); /* in place of the system's limit, not of the design's; 0: none */
void release_limit_start(void);     /* asks the system for the limit, unless somebody told it */
