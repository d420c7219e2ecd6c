/* Empties "shared": one pool and one superslab for all classes. */
#include "empties/empties.h"

static struct slab *shared_pool; /* LIFO, under the pool lock */
static struct superslab shared_superslab;

struct slab **empties_pool(unsigned class)
{
    return &shared_pool;
}

struct slab *empties_retired(unsigned class)
{
    (void)class;
    return shared_pool;
}

struct superslab *empties_superslab(unsigned class)
{
    return &shared_superslab;
}

void empties_reset(void)
{
    shared_pool = NULL;
    shared_superslab = (struct superslab){ 0 };
}
