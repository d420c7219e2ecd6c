/* Empties: whom an empty slab and a superslab serve. Under the pool lock. */
#pragma once

#include "span.h"

/* runtime/pool says how its slabs are taken. All zero: none are left. */
struct superslab {
    size_t next; /* offset of the next slab to hand out */
    size_t end;
};

/* Empty slabs, LIFO: runtime/pool says how. All zero: empty. */
union pool {
    struct slab *top;
    uintptr_t word;
};

union pool *empties_pool(unsigned class);
bool empties_reused(void); /* do the slabs of the pools serve again? */
struct superslab *empties_superslab(unsigned class);
void empties_reset(void);
