/* Remote free "owner's list": what the emitted free calls. */
#pragma once

#include "3_records/heap.h"

void remote_free(struct heap *owner, unsigned class, void *block); /* by another thread than the owner's */
