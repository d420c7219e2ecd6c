/* Pools and superslabs are of no shard. */
#pragma once

enum { VACANCY_PLACES = CLASS_COUNT };

static inline size_t first_vacancy(const struct heap *heap)
{
    (void)heap;
    return 0;
}

static inline size_t first_vacancy_for(const struct slab *slab)
{
    (void)slab;
    return 0;
}
