/* Which object file an address lies in, by /proc/self/maps. */
#pragma once

#include "1_base/cold.h"

#include <stdbool.h>
#include <stdint.h>

/* A mapping of this process: [start, end), its file and where in the file it begins. */
struct object {
    uintptr_t start, end, offset;
    char path[256]; /* what does not fit is cut; empty without a file */
};

/* The mapping that holds the address; false if there is none, or no /proc. Async-signal-safe, where dladdr(3) is not. */
COLD bool object_at(const void *address, struct object *object);
