/* Populate "batches": committed memory rises by batches of pages, which one call makes resident. */
#pragma once

#include <stddef.h>

#include "plan.h"

#define POPULATES 1

enum { COMMIT_STEP = POPULATE_PAGES * PAGE_BYTES };

void populate(void *start, size_t bytes); /* whole pages that hold nothing: a byte of each may change */
