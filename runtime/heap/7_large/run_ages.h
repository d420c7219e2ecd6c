/* The age queue: free runs with committed pages, FIFO by when they were freed or split. Under the large lock. */
#pragma once

#include "1_base/cold.h"

#include <stddef.h>
#include <stdint.h>

void ages_join(uint32_t first); /* a run was pushed on its bin; its `dirty` is set */
void ages_leave(uint32_t first); /* it leaves its bin */
void ages_release(void); /* the oldest give their pages back (docs/machine-rooms.md, 'release') */
COLD size_t ages_trim(void); /* all free runs do, at once; bytes */
COLD size_t ages_reclaim(size_t wanted); /* free runs become address space, at least `wanted` bytes if there are; bytes */
COLD void ages_check(void);
COLD void ages_reset(void);
