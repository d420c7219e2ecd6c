/* Slab records "head": the first HEAD_SLABS slabs of a superslab hold the records of all its slabs, so that an address alone
 * leads to its record. The span is aligned to superslabs. */
#pragma once

enum { HEAD_BYTES = HEAD_SLABS * SLAB_BYTES, RECORDS_BYTES = 0 };

static inline struct slab *slab_of(const void *block)
{
    uintptr_t inside = (uintptr_t)block % SUPERSLAB_BYTES;
    return (struct slab *)((uintptr_t)block - inside) + (inside >> SLAB_SHIFT);
}

static inline struct slab *slab_record(size_t number)
{
    return slab_of((char *)hs_span + (number << SLAB_SHIFT));
}

/* The slab's place in the span, in slabs. */
static inline size_t slab_number(const struct slab *slab)
{
    uintptr_t inside = (uintptr_t)slab % SUPERSLAB_BYTES;
    return (((uintptr_t)slab - inside - hs_span) >> SLAB_SHIFT) + inside / sizeof *slab;
}
