/* Remote free: by threads that are not the owner; and which store a heap uses. */
#ifndef HEAPSMITH_REMOTE_H
#define HEAPSMITH_REMOTE_H

#include <stdbool.h>

#include "heap.h"
#include "span.h"

#pragma GCC visibility push(hidden)

struct store *remote_store(struct heap *heap);
void remote_lock_store(void);
void remote_unlock_store(void);
void remote_lock_pool(void); /* around pool work inside a store operation */
void remote_unlock_pool(void);
void remote_own(struct slab *slab, struct heap *heap);
bool remote_drain(struct heap *heap);                 /* true if blocks came */
struct heap *remote_freeing_heap(void);               /* the calling thread's, got now if it needs one to free; hs_no_heap: none */
void remote_orphan_free(unsigned class, void *block); /* by a thread without a heap */
void remote_reset(void);

#pragma GCC visibility pop

#endif
