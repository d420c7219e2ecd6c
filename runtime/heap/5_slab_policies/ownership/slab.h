/* Ownership "slab": a slab's record names its heap, and all heaps share pools and superslabs. */
#pragma once

#include "2_system/os.h"
#include "3_records/span.h"

#include SHARDS_VACANCIES

enum { OWNERS_SPACE = 0 };

extern struct vacancy hs_vacancy[VACANCY_PLACES]; /* of all heaps, under the pool lock */

/* The heap that acquired the block's slab, where heaps own slabs. */
static inline struct heap *owner_of(const void *block)
{
    return slab_of(block)->owner;
}

/* A slab goes to a heap, or with NULL to a pool. */
static inline void slab_owned(struct slab *slab, struct heap *heap)
{
    slab->owner = heap;
}

static inline void owners_init(void)
{
}

/* What a part of the span has in the table of owners. */
static inline struct os_part owners_part(size_t offset, size_t bytes)
{
    (void)offset;
    (void)bytes;
    return (struct os_part){ NULL, 0 };
}

static inline struct vacancy *vacancies_of(struct heap *heap)
{
    (void)heap;
    return hs_vacancy;
}

/* The next heap with vacancies of its own behind one, hs_no_heap the first; NULL: no more. */
static inline struct heap *vacancies_after(const struct heap *heap)
{
    (void)heap;
    return NULL;
}
