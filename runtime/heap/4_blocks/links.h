/* A free block on a list: the link to the next in its first word, encoded where the design is hardened. */
#pragma once

#include "4_blocks/hardening/hardening.h"
#include "3_records/span.h"

struct block {
    uintptr_t link;
};

/* Encoded with the process's key and the place it is written at (E. Itkin, "Safe-Linking", Check Point Research, 2020), so
 * that what the program wrote there after the free is seen when the link is followed. */
static inline void link_set(struct block *block, const struct block *next)
{
    block->link = (uintptr_t)next ^ (ENCODE_LINKS ? hs_link_key ^ (uintptr_t)block >> 12 : 0);
}

static inline struct block *link_decoded(const struct block *block, uintptr_t link)
{
    struct block *next = (struct block *)(link ^ (ENCODE_LINKS ? hs_link_key ^ (uintptr_t)block >> 12 : 0));
    if (ENCODE_LINKS && next != NULL && (!in_slab_span(next) || (uintptr_t)next % GRAIN != 0))
        hs_misuse("a block was written to after its free", block);
    return next;
}

static inline struct block *link_next(const struct block *block)
{
    return link_decoded(block, block->link);
}

/* The same for links that one thread stores while another looks at them: who has seen the link comes after its store. */
static inline void link_store(struct block *block, const struct block *next)
{
    uintptr_t link = (uintptr_t)next ^ (ENCODE_LINKS ? hs_link_key ^ (uintptr_t)block >> 12 : 0);
    __atomic_store_n(&block->link, link, __ATOMIC_RELEASE);
}

static inline struct block *link_load(const struct block *block)
{
    return link_decoded(block, __atomic_load_n(&block->link, __ATOMIC_ACQUIRE));
}

/* The same when the block leaves its list: zero again where hardening looks for writes after the free. */
static inline struct block *link_take(struct block *block)
{
    struct block *next = link_next(block);
    if (ZERO_FREED)
        block->link = 0;
    return next;
}
