/* Empties: whom an empty slab and a superslab serve. Under the pool lock. */
#ifndef HEAPSMITH_EMPTIES_H
#define HEAPSMITH_EMPTIES_H

#include <stddef.h>

#include "span.h"

#pragma GCC visibility push(hidden)

struct superslab {
    size_t next; /* offset of the next slab to hand out */
    size_t end;
};

struct slab **empties_pool(unsigned class);
struct superslab *empties_superslab(unsigned class);
void empties_reset(void);

#pragma GCC visibility pop

#endif
