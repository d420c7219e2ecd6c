/* Remote free "owner's list": what the emitted free calls. */
#ifndef HEAPSMITH_REMOTE_OWNER_LIST_H
#define HEAPSMITH_REMOTE_OWNER_LIST_H

#include "heap.h"

#pragma GCC visibility push(hidden)

void remote_free(struct heap *owner, unsigned class, void *block); /* by another thread than the owner's */

#pragma GCC visibility pop

#endif
