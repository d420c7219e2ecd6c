/* What the library reports of itself: counters as JSON, and the foreign pointers it saw. All async-signal-safe. */
#pragma once

#include "1_base/cold.h"

#include <stdint.h>

#include "1_base/text.h"

/* One JSON object on one line (docs/api.md has its fields). Exact while no other thread allocates or frees. */
COLD void stats_json(struct text *out);

/* A foreign pointer came from this caller. */
COLD void hs_foreign_seen(const void *caller);

/* One line on stderr as soon as more foreign pointers than this were seen. */
extern uint64_t stats_foreign_limit;
