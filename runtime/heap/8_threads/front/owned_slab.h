/* Owned slab: the hit paths on a slab's list of freed blocks, and the slow paths. */
#pragma once

#include "4_blocks/links.h"

void *owned_slab_refill(struct heap *heap, unsigned class);
void owned_slab_give(struct heap *heap, unsigned class, void *block);

/* The block freed last of the class's hot slab; NULL if there is none, or the slab would not stay available. */
static inline void *hs_slab_pop(struct heap *heap, unsigned class, uint32_t blocks)
{
    struct slab *slab = heap->store[class].hot;
    if (slab == NULL)
        return NULL;
    if (slab->freed <= (slab->carved == blocks))
        return NULL;
    struct block *block = slab->list;
    slab->list = link_take(block);
    slab->freed--;
    word_add(&slab->out, 1);
    return block;
}

/* The block's slab takes it; NULL if the slab may change its place in the store. */
static inline struct slab *hs_slab_push(struct heap *heap, unsigned class, void *block)
{
    struct slab *slab = slab_of(block);
    struct block *newest = block;
    uint64_t stays = (uint64_t)slab->freed * (slab->out - 1); /* not 0: available before, and not empty after */
    if ((stays | (slab == heap->store[class].hot)) == 0)
        return NULL;
    link_set(newest, slab->list);
    slab->list = newest;
    slab->freed++;
    word_subtract(&slab->out, 1);
    return slab;
}
