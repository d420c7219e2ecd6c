/* Superslabs whose slabs are claimed without a lock; a new superslab is mapped under the pool lock.
 *
 * Protocol. `next` alone is shared: 0 (no slab is left), or 1 + the offset of the next slab. Claim: compare-and-swap
 * with acquire to the next slab, or to 0 with the last, which the address tells. Open: store with release under the pool
 * lock, when no slab is left and all that the new slabs need has been written. Close: exchange with 0 under the lock;
 * what is left is opened again in the same hold. `next` only rises between zeros, and a claim expects no zero (no ABA). Where a
 * superslab was closed and opened since a claim's load, the slab is still the next, and the claim sees what became of it. `end`
 * is written and read under the lock. The list of all slabs: push with release; others walk it under the lock (acquire). */
#pragma once

#include "5_slab_policies/ownership/ownership.h"

enum { CLAIMS_ALONE = 1 }; /* a superslab's next slab is taken without the lock */

static inline size_t superslab_next(const struct superslab *superslab)
{
    size_t next = __atomic_load_n(&superslab->next, __ATOMIC_RELAXED);
    return next > 0 ? next - 1 : superslab->end;
}

static inline void superslab_open(struct superslab *superslab, size_t next, size_t end)
{
    superslab->end = end;
    __atomic_store_n(&superslab->next, 1 + next, __ATOMIC_RELEASE);
}

/* No slab is left until it is opened again; the offset of the next slab that it had. Under the pool lock. */
static inline size_t superslab_close(struct superslab *superslab)
{
    size_t next = __atomic_exchange_n(&superslab->next, 0, __ATOMIC_RELAXED);
    return next > 0 ? next - 1 : superslab->end;
}

/* The next slab, which then begins the list of all slabs; NULL: none is left. */
static inline struct slab *superslab_claim(struct superslab *superslab, struct slab **newest)
{
    size_t next = __atomic_load_n(&superslab->next, __ATOMIC_RELAXED), after;
    do {
        if (next == 0)
            return NULL;
        after = (next - 1 + SLAB_BYTES + GUARD_BYTES) % SUPERSLAB_BYTES == 0 ? 0 : next + SLAB_BYTES;
    } while (!__atomic_compare_exchange_n(&superslab->next, &next, after, true, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
    struct slab *slab = slab_record((next - 1) >> SLAB_SHIFT), *before = __atomic_load_n(newest, __ATOMIC_RELAXED);
    do {
        slab->earlier = before;
    } while (!__atomic_compare_exchange_n(newest, &before, slab, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
    count_shared(&hs_count.slabs, 1);
    return slab;
}
