/* Pools under a lock: a LIFO each, through `next`. */
#pragma once

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

/* A pool is a LIFO through `next`, under the pool lock. */
static inline void pool_push(struct heap *heap, struct slab *slab)
{
    check_pool_held();
    union pool *pool = &vacancy_for(heap, slab)->pool;
    slab->next = pool->top;
    on_slab_covered(slab->next, slab);
    on_slab_covered(slab, NULL);
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
    on_slab_covered(slab->next, NULL);
    return slab;
}

/* Does `action` to slabs of the pools until this gave `wanted` bytes. `newest` begins the list of all slabs. */
static inline size_t pool_act(size_t (*action)(struct slab *slab), size_t wanted, struct slab *newest)
{
    size_t bytes = 0;
    for (struct slab *slab = newest; slab != NULL && bytes < wanted; slab = slab->earlier)
        bytes += slab->pooled ? action(slab) : 0;
    return bytes;
}
