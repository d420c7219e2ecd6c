/* Ownership "superslab": each heap has superslabs of its own, and a table names the heap of each superslab.
 *
 * Protocol: an entry is written under the pool lock each time the superslab is mapped, before one of its blocks is handed out.
 * Whoever frees a block has it from a thread that saw the entry. */
#pragma once

#include "3_records/heap.h"
#include "2_system/os.h"
#include "3_records/span.h"

enum { OWNERS_SPACE = (sizeof(struct heap *) * (SLAB_SPAN_BYTES / SUPERSLAB_BYTES) + MOST_PAGE_BYTES - 1) / MOST_PAGE_BYTES * MOST_PAGE_BYTES };

extern struct heap **hs_owners; /* by superslab of the span */

static inline struct heap *owner_of(const void *block)
{
    return hs_owners[((uintptr_t)block - hs_span) / SUPERSLAB_BYTES];
}

/* A slab's owner is its superslab's. */
static inline void slab_owned(struct slab *slab, struct heap *heap)
{
    (void)slab;
    (void)heap;
}

static inline void ownership_superslab_ready(struct heap *heap, size_t offset)
{
    hs_owners[offset / SUPERSLAB_BYTES] = heap;
}

static inline void owners_init(void)
{
    hs_owners = os_range(OWNERS_SPACE, PAGE_BYTES);
}

static inline struct os_part owners_part(size_t offset, size_t bytes)
{
    return (struct os_part){ hs_owners + offset / SUPERSLAB_BYTES, bytes / SUPERSLAB_BYTES * sizeof *hs_owners };
}

static inline struct vacancy *vacancies_of(struct heap *heap)
{
    return heap->rooms.vacancy;
}

static inline struct heap *vacancies_after(const struct heap *heap)
{
    return hs_heap_after(heap);
}
