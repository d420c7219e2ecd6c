/* The store: blocks of a class out of its slabs and back. */
#pragma once

#include "heap.h"

uint32_t hs_take(struct heap *heap, unsigned class, void **blocks, uint32_t want); /* a refill; takes the store's lock */
void hs_give(struct heap *heap, unsigned class, void *block); /* under the store's lock, as the next */
void hs_give_batch(struct heap *heap, unsigned class, void *const *blocks, uint32_t count);
void hs_give_all(struct heap *heap, unsigned class, void *const *blocks, uint32_t count); /* takes the lock */
