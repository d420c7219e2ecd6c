/* Runs on small pages. */
#pragma once

#include "7_large/thp/unsampled.h"

static inline void thp_runs_writable(size_t first, size_t end)
{
    os_huge_pages(hs_runs.start + first * PAGE_BYTES, (end - first) * PAGE_BYTES, false);
}

static inline bool thp_runs_whole(size_t top)
{
    return false;
}
