/* Freed blocks "list": a LIFO through the blocks' first words, of whoever has the slab's store. */
#pragma once

#include "bound.h"
#include "links.h"

struct freed_place { /* the record has the head */
};

static inline struct freed_place freed_place(struct slab *slab, unsigned class)
{
    return (struct freed_place){ };
}

static inline void freed_give(struct slab *slab, struct freed_place place, void *block)
{
    struct block *newest = block;
    link_set(newest, slab->list);
    slab->list = newest;
}

/* `want` of them, at most slab->freed. */
static inline void freed_take(struct slab *slab, unsigned class, void **blocks, uint32_t want)
{
    if (want == 0) /* the list's head may lie on another line than the counts */
        return;
    struct block *newest = slab->list;
    ROUNDS(taken_freed);
    for (uint32_t taken = 0; taken < want; taken++) {
        BOUND(taken_freed, MOST_REFILL);
        blocks[taken] = newest;
        newest = link_take(newest);
    }
    slab->list = newest;
}

static inline void freed_begin(struct slab *slab)
{
    slab->list = NULL;
}

/* The slab is retired: where hardening keeps freed blocks zero, their links become zero again. */
static inline void freed_end(struct slab *slab)
{
    for (uint32_t left = ZERO_FREED ? slab->freed : 0; left > 0; left--)
        slab->list = link_take(slab->list);
}

/* How many there are, for checks: one more than slab->freed if there are too many, so that a circle has an end. */
static inline uint32_t freed_found(const struct slab *slab)
{
    uint32_t found = 0;
    for (const struct block *block = slab->list; block != NULL && found <= slab->freed; block = link_next(block))
        found++;
    return found;
}
