/* Crash "named": a line on a fault in the heap's code, and on a block that comes back to its slab twice. */
#pragma once

#include "1_base/cold.h"

#include <stdbool.h>

enum { CRASH_NAMED = 1 };

COLD void crash_start(void);
COLD void crash_freed_twice(const void *block) __attribute__((noreturn));

/* A block comes back to its slab; twice: the slab has it already. */
static inline void crash_given(const void *block, bool twice)
{
    if (__builtin_expect(twice, 0))
        crash_freed_twice(block);
}
