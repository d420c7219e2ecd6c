/* Freed blocks "list": a LIFO through the blocks' first words, of whoever has the slab's store. */
#pragma once

#include "1_base/bound.h"
#include "4_blocks/hardening/given.h"
#include "4_blocks/hardening/hardening.h"
#include "4_blocks/links.h"

enum { FREED_SERVE = 1 }; /* a take may have them */

#define FREED_VIEW /* links are in blocks, encoded where the design is hardened */

struct freed_place { /* the record has the head */
    uintptr_t start; /* of the slab: the class need not be read */
    unsigned class;
};

static inline struct freed_place freed_place(struct slab *slab, unsigned class)
{
    return (struct freed_place){ (uintptr_t)slab_start(slab), class };
}

/* CHECK_GIVEN: why the program cannot use the block; NULL: it can, or the block is freed, which no mark tells. */
static inline const char *freed_fault(struct slab *slab, unsigned class, const void *block)
{
    return given_is_start(slab, class, block) ? NULL : NOT_A_START;
}

/* Blocks of the slab, the first of `blocks`, come back. Returns their number. */
static inline uint32_t freed_give(struct slab *slab, struct freed_place place, void *const *blocks, uint32_t count)
{
    uint32_t given = 0;
    ROUNDS(given_listed);
    do {
        BOUND(given_listed, MOST_GIVEN);
        struct block *newest = blocks[given];
        if (CHECK_GIVEN && !given_is_start(slab, place.class, newest))
            hs_misuse(NOT_A_START, newest);
        link_set(newest, slab->list);
        slab->list = newest;
        given++;
    } while (given < count && lies_in_slab(place.start, blocks[given]));
    return given;
}

/* `want` of them, at most slab->freed, to the places before `end`: the first to the last place. */
static inline void freed_take(struct slab *slab, unsigned class, void **end, uint32_t want)
{
    if (want == 0) /* the list's head may lie on another line than the counts */
        return;
    struct block *newest = slab->list;
    ROUNDS(taken_freed);
    for (uint32_t taken = 0; taken < want; taken++) {
        BOUND(taken_freed, MOST_REFILL);
        *--end = newest;
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
