/* Huge cache: freed mappings that wait for another request (docs/machine-rooms.md). Under the large lock. */
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
    int64_t ordinal : 42;
    uint64_t narrow : 1; /* its guards are (hardening_map) */
    uint64_t mark : 4;   /* who made the block (deletes); 0: nobody said */
    uint64_t slack : 16; /* bytes of its last page that the program did not ask for, where canaries say that of other blocks */
    uint64_t sampled : 1; /* a sample (sampling) */
};

#include HUGE_CACHE_ROW
