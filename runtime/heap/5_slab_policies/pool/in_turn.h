/* Superslabs whose slabs are taken one after the other, under the pool lock. */
#pragma once

enum { CLAIMS_ALONE = 0 };

/* The offset of the next slab. */
static inline size_t superslab_next(const struct superslab *superslab)
{
    return superslab->next;
}

static inline void superslab_open(struct superslab *superslab, size_t next, size_t end)
{
    *superslab = (struct superslab){ next, end };
}

/* No slab is left until it is opened again; the offset of the next slab that it had. Under the pool lock. */
static inline size_t superslab_close(struct superslab *superslab)
{
    size_t next = superslab->next;
    superslab->next = superslab->end;
    return next;
}

/* The next slab, which then begins the list of all slabs; NULL: none is left. Under the pool lock. */
static inline struct slab *superslab_claim(struct superslab *superslab, struct slab **newest)
{
    if (superslab->next == superslab->end)
        return NULL;
    struct slab *slab = slab_record(superslab->next >> SLAB_SHIFT);
    superslab->next += SLAB_BYTES;
    if (on_slab_claimed(slab))
        return slab;
    slab->earlier = *newest;
    *newest = slab;
    count_own(&hs_count.slabs, 1);
    return slab;
}
