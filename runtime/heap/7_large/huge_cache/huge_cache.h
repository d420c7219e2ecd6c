/* Huge cache: freed mappings that wait for another request (docs/machine.md section 8). Under the large lock. */
#pragma once

#include "1_base/cold.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan.h"

/* A huge block. */
struct huge {
    char *start; /* NULL: none, and all of it is zero */
    size_t pages;
    uint32_t room;  /* pages behind them that are address space of the block's own, where it grows without a move */
    uint32_t grown; /* of `pages`, the last, which were room */
    int64_t ordinal : 47;
    uint64_t narrow : 1; /* its guards are (hardening_map) */
    uint64_t mark : 4;   /* who made the block (deletes); 0: nobody said */
    uint64_t slack : 12; /* bytes of its last page that the program did not ask for, where canaries say that of other blocks */
};

#ifdef HUGE_KEPT_BYTES
bool huge_cache_keeps(size_t pages);       /* would a freed mapping so long wait? Without the lock */
void huge_cache_put(struct huge mapping);  /* it waits; huge_cache_gone follows under the same hold of the lock */
struct huge huge_cache_take(size_t pages); /* the newest that fits; no start: none does */
struct huge huge_cache_gone(bool all);     /* the oldest, if it waited too long, too many wait, or all must go */
size_t huge_cache_mappings(void);          /* that wait */
COLD void huge_cache_check(void);          /* checked build */
#else
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
#endif
