/* Empties "once": retired slabs wait in one pool and never serve again; one superslab for all classes. */
#include "empties/empties.h"

static struct slab *spent; /* under the pool lock */
static struct superslab superslab;

struct slab **empties_pool(unsigned class)
{
    (void)class;
    return &spent;
}

struct slab *empties_retired(unsigned class)
{
    (void)class;
    return NULL;
}

struct superslab *empties_superslab(unsigned class)
{
    (void)class;
    return &superslab;
}

void empties_reset(void)
{
    spent = NULL;
    superslab = (struct superslab){ 0 };
}
