/* Empties "shared": one pool and one superslab for all classes. */
#include "empties/empties.h"

static struct slab *pool; /* LIFO, under the pool lock */
static struct superslab superslab;

struct slab **empties_pool(unsigned class)
{
    (void)class;
    return &pool;
}

struct superslab *empties_superslab(unsigned class)
{
    (void)class;
    return &superslab;
}

void empties_reset(void)
{
    pool = NULL;
    superslab = (struct superslab){ 0 };
}
