/* Pools without a lock: a LIFO each, through `older`, which no age queue needs here.
 *
 * Protocol. A pool's word is 0 (empty), or a tag and 1 + the number of the slab on top. Push: load the word, link to its slab,
 * compare-and-swap with release, so that whoever pops the slab sees what was done to it. Pop: load the word with acquire, read
 * the top slab's link, compare-and-swap. Meanwhile another thread may pop that slab and push it again: the link that was read
 * is stale then. Each pop makes the tag one more, so the compare-and-swap fails (no ABA, short of 2^(64 - TAG_SHIFT) pops
 * between two instructions). Links are atomic, for a pop may read one while a push writes it. Records stay memory for ever. */
#pragma once

#include "2_system/locks.h"
#include "5_slab_policies/ownership/ownership.h"

enum { TAG_SHIFT = 27 };
_Static_assert(SPAN_SLABS < 1 << TAG_SHIFT, "a pool's word has room for a slab's number");

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

static inline struct slab *pool_top(uintptr_t word)
{
    uintptr_t number = word % (1 << TAG_SHIFT);
    return number == 0 ? NULL : slab_record(number - 1);
}

static inline uintptr_t pool_word(uintptr_t tag, const struct slab *top)
{
    return tag << TAG_SHIFT | (top == NULL ? 0 : 1 + slab_number(top));
}

/* Puts a chain on a pool, of which `first` comes out next. */
static inline void pool_push_chain(uintptr_t *pool, struct slab *first, struct slab *last)
{
    uintptr_t word = __atomic_load_n(pool, __ATOMIC_RELAXED);
    uintptr_t with;
    do {
        __atomic_store_n(&last->older, pool_top(word), __ATOMIC_RELAXED);
        with = pool_word(word >> TAG_SHIFT, first);
    } while (!__atomic_compare_exchange_n(pool, &word, with, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

static inline void pool_push(struct heap *heap, struct slab *slab)
{
    pool_push_chain(&vacancy_of(heap, slab->class)->pool.word, slab, slab);
}

/* The slab retired last; NULL: none serves. */
static inline struct slab *pool_pop(struct heap *heap, unsigned class)
{
    uintptr_t *pool = &vacancy_of(heap, class)->pool.word;
    uintptr_t word = empties_reused() ? __atomic_load_n(pool, __ATOMIC_ACQUIRE) : 0;
    for (struct slab *slab; (slab = pool_top(word)) != NULL;) {
        struct slab *below = __atomic_load_n(&slab->older, __ATOMIC_RELAXED);
        uintptr_t without = pool_word((word >> TAG_SHIFT) + 1, below);
        if (__atomic_compare_exchange_n(pool, &word, without, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
            return slab;
    }
    return NULL;
}

/* All slabs of a pool: nobody else has them until they are pushed back. */
static inline struct slab *pool_pop_all(uintptr_t *pool)
{
    uintptr_t word = __atomic_load_n(pool, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(pool, &word, pool_word((word >> TAG_SHIFT) + 1, NULL), false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED))
        continue;
    return pool_top(word);
}

/* Does `action` to slabs of a pool, which is empty meanwhile, until this gave `wanted` bytes. */
static inline size_t pool_act_on(uintptr_t *pool, size_t (*action)(struct slab *slab), size_t wanted)
{
    size_t bytes = 0;
    struct slab *first = pool_pop_all(pool), *last = NULL;
    for (struct slab *slab = first; slab != NULL; slab = slab->older) {
        bytes += bytes < wanted ? action(slab) : 0;
        last = slab;
    }
    if (last != NULL)
        pool_push_chain(pool, first, last);
    return bytes;
}

/* Does the same to the slabs of all pools. */
static inline size_t pool_act(size_t (*action)(struct slab *slab), size_t wanted, struct slab *newest)
{
    size_t bytes = 0;
    for (struct heap *heap = &hs_no_heap; heap != NULL; heap = vacancies_after(heap))
        for (unsigned place = 0; place < CLASS_COUNT; place++)
            if (empties_place(place) == place)
                bytes += pool_act_on(&vacancies_of(heap)[place].pool.word, action, bytes < wanted ? wanted - bytes : 0);
    return bytes;
}
