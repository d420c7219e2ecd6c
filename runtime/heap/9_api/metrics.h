/* The heap's figures in Prometheus' text format, with the names of `heapsmith top`. Async-signal-safe. */
#pragma once

#include "1_base/cold.h"
#include "1_base/text.h"

#include <stdbool.h>

/* For one caller at a time. `classes`: by size class too. Exact while no other thread allocates or frees. */
COLD void metrics_text(struct text *out, bool classes);
