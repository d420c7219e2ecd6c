/* Pool: how heaps take slabs out of pools and superslabs, shared or their own, and what they lock for that. */
#pragma once

#include "2_system/locks.h"
#include "5_slab_policies/ownership/ownership.h"
#include "5_slab_policies/remote/remote.h"

#ifdef POOL_OWN
#include "5_slab_policies/pool/alone.h"
#elif defined(POOL_SWAPS)
#include "5_slab_policies/pool/swaps.h"
#else
/* Around all work on pools and superslabs, and around the mapping of superslabs inside that. */
static inline void pool_enter(void)
{
    remote_lock_pool();
}

static inline void pool_leave(void)
{
    remote_unlock_pool();
}

static inline void pool_enter_map(void)
{
}

static inline void pool_leave_map(void)
{
}

/* What lies above a slab of a pool, where slabs leave it from the middle. A scan may look at the field meanwhile. */
static inline void pool_covers(struct slab *slab, struct slab *above)
{
#ifdef UNMAP_FROM
    if (slab != NULL)
        __atomic_store_n(&slab->above, above, __ATOMIC_RELAXED);
#endif
}

/* A pool is a LIFO through `next`, under the pool lock. */
static inline void pool_push(struct heap *heap, struct slab *slab)
{
    check_pool_held();
    union pool *pool = &vacancy_for(heap, slab)->pool;
    slab->next = pool->top;
    pool_covers(slab->next, slab);
    pool_covers(slab, NULL);
    pool->top = slab;
}

/* The slab retired last; NULL: none serves. */
static inline struct slab *pool_pop(struct heap *heap, unsigned class)
{
    check_pool_held();
    union pool *pool = &vacancy_of(heap, class)->pool;
    struct slab *slab = empties_reused() ? pool->top : NULL;
    if (slab == NULL)
        return NULL;
    pool->top = slab->next;
    pool_covers(slab->next, NULL);
    return slab;
}

#ifdef UNMAP_FROM
/* It leaves its pool, wherever it lies there. */
static inline void pool_remove(struct heap *heap, struct slab *slab)
{
    *(slab->above != NULL ? &slab->above->next : &vacancy_for(heap, slab)->pool.top) = slab->next;
    pool_covers(slab->next, slab->above);
}
#endif

/* Does `action` to slabs of the pools until this gave `wanted` bytes. `newest` begins the list of all slabs. */
static inline size_t pool_act(size_t (*action)(struct slab *slab), size_t wanted, struct slab *newest)
{
    size_t bytes = 0;
    for (struct slab *slab = newest; slab != NULL && bytes < wanted; slab = slab->earlier)
        bytes += slab->pooled ? action(slab) : 0;
    return bytes;
}
#endif

#ifdef POOL_CLAIMS
#include "5_slab_policies/pool/claims.h"
enum { CLAIMS_ALONE = 1 }; /* a superslab's next slab is taken without the lock */
#else
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
#ifdef UNMAP_FROM
    if (slab->unmapped) { /* it is on the list since it was handed out first */
        slab->unmapped = false;
        return slab;
    }
#endif
    slab->earlier = *newest;
    *newest = slab;
    count_own(&hs_count.slabs, 1);
    return slab;
}
#endif
