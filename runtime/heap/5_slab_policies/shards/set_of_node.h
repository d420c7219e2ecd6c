/* Each shard has pools and superslabs of its own. */
#pragma once

enum { VACANCY_PLACES = SHARDS * CLASS_COUNT };

static inline size_t first_vacancy(const struct heap *heap)
{
    return heap->rooms.shard * CLASS_COUNT;
}

static inline size_t first_vacancy_for(const struct slab *slab)
{
    return slab->shard * CLASS_COUNT;
}
