/* Unmapping: superslabs whose slabs are all empty go back to the OS. Under the pool lock. */
#pragma once

#include "3_records/span.h"

#ifdef UNMAP_FROM
#include "5_slab_policies/unmapping/superslabs.h"
#else
static inline void unmapping_mapped(size_t offset)
{
    (void)offset;
}

/* Maps a superslab of the region again that was unmapped: its offset, and whether it lies on huge pages. False: none. */
static inline bool unmapping_undone(size_t region, size_t *offset, bool *huge)
{
    (void)region;
    (void)offset;
    (void)huge;
    return false;
}

static inline void unmapping_reused(struct slab *slab)
{
    (void)slab;
}

static inline void unmapping_retired(struct heap *heap, struct slab *slab)
{
    (void)heap;
    (void)slab;
}

static inline size_t unmapping_vacate(void)
{
    return 0;
}

static inline void unmapping_check(const size_t mapped[REGIONS])
{
    (void)mapped;
}

static inline void unmapping_reset(void)
{
}
#endif
