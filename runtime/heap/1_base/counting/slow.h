/* Counting "slow": no locks, no system calls, no hits, but what the checked build counts. */
#pragma once

#include "1_base/check.h"

enum { COUNTING_HITS = 0 };
#define COUNTING_LOCKS HEAPSMITH_CHECKED

#define COUNTING_VIEW /* nothing to see from outside */

static inline void count_system(enum system_count which)
{
    (void)which;
}
