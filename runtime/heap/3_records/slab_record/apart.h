/* Slab records "apart": one table, parallel to the span. */
#pragma once

enum { HEAD_BYTES = 0, RECORDS_BYTES = sizeof(struct slab) * SPAN_SLABS };

static inline struct slab *slab_record(size_t number)
{
    return hs_slabs + number;
}

/* The slab's place in the span, in slabs. */
static inline size_t slab_number(const struct slab *slab)
{
    return (size_t)(slab - hs_slabs);
}

static inline struct slab *slab_of(const void *block)
{
    return hs_slabs + (((uintptr_t)block - hs_span) >> SLAB_SHIFT);
}
