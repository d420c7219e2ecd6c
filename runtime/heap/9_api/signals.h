/* What the library does when a signal comes that a word of HEAPSMITH names; then the handler that the process had has its turn. */
#pragma once

#include "1_base/cold.h"

#include <stdbool.h>
#include <stddef.h>

typedef void signal_act(void); /* async-signal-safe */

/* From now on `act` is done too when the signal of this name comes, until the program takes the signal for itself. The name ends
 * after `length` bytes. False: there is no such name, or the system refuses. */
COLD bool signal_does(const char *name, size_t length, signal_act *act);
