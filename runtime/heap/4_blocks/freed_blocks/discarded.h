/* Freed blocks "discarded": the store counts them, and no take has them. */
#pragma once

#include "1_base/bound.h"
#include "3_records/span.h"
#include "4_blocks/hardening/given.h"
#include "4_blocks/hardening/hardening.h"

enum { FREED_SERVE = 0 }; /* a take may have none */

#define FREED_VIEW /* nobody knows which they are */

struct freed_place {
    uintptr_t start; /* of the slab */
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
    ROUNDS(given_for_good);
    for (; given < count && (given == 0 || lies_in_slab(place.start, blocks[given])); given++) {
        BOUND(given_for_good, MOST_GIVEN);
        if (CHECK_GIVEN && !given_is_start(slab, place.class, blocks[given]))
            hs_misuse(NOT_A_START, blocks[given]);
    }
    return given;
}

static inline void freed_take(struct slab *slab, unsigned class, void **end, uint32_t want)
{
    (void)slab, (void)class, (void)end, (void)want;
}

static inline void freed_begin(struct slab *slab)
{
    (void)slab;
}

static inline void freed_end(struct slab *slab)
{
    (void)slab;
}

/* How many a take would find, for checks. */
static inline uint32_t freed_found(const struct slab *slab)
{
    (void)slab;
    return 0;
}
