/* Crash "silent": nothing. */
#pragma once

#include <stdbool.h>

enum { CRASH_NAMED = 0 };

/* A block comes back to its slab; twice: the slab has it already. */
static inline void crash_given(const void *block, bool twice)
{
    (void)block, (void)twice;
}
