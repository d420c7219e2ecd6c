/* C++'s plain operator new, which fast.c has, and what it leaves to others. */
#pragma once

#include "1_base/bound.h"
#include "9_api/deletes/deletes.h"

#include <stddef.h>

#pragma GCC visibility push(default)
void *new_plain(size_t bytes) __asm__("_Znwm");
#pragma GCC visibility pop

/* The next definition of an operator that may not return NULL; without a C++ library, which alone can throw, the end. */
void *hs_next_operator(const char *name);

/* What malloc does not serve: the C++ library runs the new-handler, and throws. Never NULL. */
GATE void *new_elsewhere(size_t bytes);
