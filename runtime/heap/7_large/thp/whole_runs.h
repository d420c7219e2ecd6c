/* All runs on huge pages, from the first page of the span on. */
#pragma once

#include "7_large/thp/unsampled.h"

static inline void thp_runs_writable(size_t first, size_t end)
{
    os_huge_pages(hs_runs.start + first * PAGE_BYTES, (end - first) * PAGE_BYTES, true);
}

static inline bool thp_runs_whole(size_t top)
{
    return top > 0;
}
