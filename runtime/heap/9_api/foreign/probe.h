/* Foreign pointers, policy probe: what the emitted free asks. */
#pragma once

#include <stdbool.h>

bool foreign_ours(const void *block); /* its page is mapped, and in the slab span */
