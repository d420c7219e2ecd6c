/* One process image's spool file: its beginning, its extents, its counts. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "spool.h"

/* Begin an image: create its spool file and write its header. False if this process is not to be, or cannot be,
 * recorded. The caller holds image->lock. */
bool image_begin(void);

/* A new live window, empty, at the end of the spool file; NULL if that fails. */
struct window *window_open(uint32_t stream);

/* Unmap. */
void window_close(struct window *window);

/* Copy a full live window to the end of the spool file and clear it. False, and nothing changed, if that fails. */
bool window_copy(struct window *window);

void count_drop(void);
void count_spool_time(uint64_t ticks);
