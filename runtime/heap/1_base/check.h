/* The checked build: -DHEAPSMITH_CHECKED=1 counts the hit path, asserts the equations, and can reset the heap. */
#pragma once

#include <stdbool.h>

#ifndef HEAPSMITH_CHECKED
#define HEAPSMITH_CHECKED 0
#endif

/* Aborts with a line that names the equation. */
void hs_broken(const char *equation) __attribute__((noreturn, cold));

static inline void check(bool holds, const char *equation)
{
    if (HEAPSMITH_CHECKED && !holds)
        hs_broken(equation);
}
