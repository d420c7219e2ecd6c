/* C++'s plain operator new, which fast.c has, and what it leaves to operators.c. */
#pragma once

#include "1_base/bound.h"
#include "9_api/deletes/deletes.h"

#include <stddef.h>

#pragma GCC visibility push(default)
void *new_plain(size_t bytes) __asm__("_Znwm");
#pragma GCC visibility pop

/* What malloc does not serve: the C++ library runs the new-handler, and throws. Never NULL. */
GATE void *new_elsewhere(size_t bytes);
