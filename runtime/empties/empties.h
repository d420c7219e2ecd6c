/* Empties: whom an empty slab and a superslab serve. Under the pool lock. */
#pragma once

#include "span.h"

struct superslab {
    size_t next; /* offset of the next slab to hand out */
    size_t end;
};

struct slab **empties_pool(unsigned class);
struct slab *empties_retired(unsigned class); /* the slab of its pool that serves next; NULL: none */
struct superslab *empties_superslab(unsigned class);
void empties_reset(void);
