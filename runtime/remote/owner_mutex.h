/* Remote free "owner's mutex": what the emitted free calls, and what becomes of the locks over fork. */
#pragma once

#include "heap.h"

#define REMOTE_IS_LOCKED

void remote_free(struct heap *owner, unsigned class, void *block); /* by another thread than the owner's */
void remote_after_fork(struct heap *heap);                         /* in the child */
