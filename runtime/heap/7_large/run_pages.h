/* The run span, page by page (docs/machine.md, 'runs'). Under the large lock, but for what run_state says. */
#pragma once

#include "1_base/cold.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "5_slab_policies/release/release.h"
#include "7_large/run_span.h"

size_t pages_space(void); /* bytes of the span and its table */
void pages_init(void);
COLD size_t pages_vacate(void);           /* what is only reserved is unmapped; bytes */
COLD void pages_shrink(void);             /* unless os_reserving, what is writable and above top is unmapped too */
COLD void pages_reset(size_t span_bytes); /* checked build */
/* A run, RUN_GONE yet, begins at first and ends at a top above the present one, committed; false, and nothing changed,
 * without memory or room. */
bool pages_rise(uint32_t first, uint32_t top);
bool pages_open(uint32_t first, uint32_t length); /* writable again; false without memory */
bool pages_close(uint32_t first, uint32_t length); /* address space only; false if the system refuses */
uint32_t pages_ahead(void); /* above top and committed all the same: the rest of a huge page */
