/* Huge cache "off": no mapping waits. */
#pragma once

static inline bool huge_cache_keeps(size_t pages)
{
    return false;
}

static inline void huge_cache_put(struct huge mapping)
{
}

static inline struct huge huge_cache_take(size_t pages)
{
    return (struct huge){ 0 };
}

static inline struct huge huge_cache_gone(bool all)
{
    return (struct huge){ 0 };
}

static inline size_t huge_cache_mappings(void)
{
    return 0;
}

static inline void huge_cache_check(void)
{
}
