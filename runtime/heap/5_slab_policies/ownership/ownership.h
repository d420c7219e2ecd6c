/* Ownership: how an address leads to the heap that owns a block, and where a heap gets its slabs. */
#pragma once

#include "5_slab_policies/empties/empties.h"
#include "2_system/os.h"
#include "3_records/span.h"

#ifdef SHARD_NODES /* each shard has vacancies of its own */
enum { VACANCY_PLACES = SHARDS * CLASS_COUNT };

static inline size_t first_vacancy(const struct heap *heap)
{
    return heap->shard * CLASS_COUNT;
}

static inline size_t first_vacancy_for(const struct slab *slab)
{
    return slab->shard * CLASS_COUNT;
}
#else
enum { VACANCY_PLACES = CLASS_COUNT };

static inline size_t first_vacancy(const struct heap *heap)
{
    (void)heap;
    return 0;
}

static inline size_t first_vacancy_for(const struct slab *slab)
{
    (void)slab;
    return 0;
}
#endif

#ifdef OWN_SUPERSLABS
#include "5_slab_policies/ownership/superslab.h"
#else
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

/* A superslab was mapped for a heap. */
static inline void superslab_owned(size_t offset, struct heap *heap)
{
    (void)offset;
    (void)heap;
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
#endif

/* Where a heap gets slabs for a class. */
static inline struct vacancy *vacancy_of(struct heap *heap, unsigned class)
{
    return &vacancies_of(heap)[first_vacancy(heap) + empties_place(class)];
}

/* Where a slab that is empty goes. */
static inline struct vacancy *vacancy_for(struct heap *heap, const struct slab *slab)
{
    return &vacancies_of(heap)[first_vacancy_for(slab) + empties_place(slab->class)];
}
