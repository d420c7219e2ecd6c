/* Pools of heaps that own superslabs: a LIFO each, through `older`, of the heap's thread alone, by plain loads and stores.
 *
 * A heap goes to another thread under the pool lock, and its pool with it. */
#pragma once

#include "2_system/locks.h"
#include "5_slab_policies/ownership/ownership.h"

static inline void pool_enter(void)
{
}

static inline void pool_leave(void)
{
}

static inline void pool_enter_map(void)
{
    hs_lock_pool();
}

static inline void pool_leave_map(void)
{
    hs_unlock_pool();
}

static inline void pool_push(struct heap *heap, struct slab *slab)
{
    union pool *pool = &vacancy_of(heap, slab->class)->pool;
    slab->older = pool->top;
    pool->top = slab;
}

/* The slab retired last; NULL: none serves. */
static inline struct slab *pool_pop(struct heap *heap, unsigned class)
{
    union pool *pool = &vacancy_of(heap, class)->pool;
    struct slab *slab = empties_reused() ? pool->top : NULL;
    if (slab != NULL)
        pool->top = slab->older;
    return slab;
}

/* Does `action` to slabs of the calling thread's pools, and of those of threads that ended, until this gave `wanted` bytes: the
 * pools of others are theirs. Under the pool lock, as adoption is. */
static inline size_t pool_act(size_t (*action)(struct slab *slab), size_t wanted, struct slab *newest)
{
    size_t bytes = 0;
    (void)newest;
    for (struct heap *heap = hs_self; heap != NULL; heap = heap == hs_self ? hs_abandoned : heap->next)
        for (unsigned place = 0; place < CLASS_COUNT; place++)
            for (struct slab *slab = vacancies_of(heap)[place].pool.top; slab != NULL && bytes < wanted; slab = slab->older)
                bytes += action(slab);
    return bytes;
}
