/* Runs whose pages are the system's choice. */
#pragma once

#include "7_large/thp/unsampled.h"

static inline void thp_runs_writable(size_t first, size_t end)
{
}

static inline bool thp_runs_whole(size_t top)
{
    return false;
}
