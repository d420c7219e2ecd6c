/* Empties "shared": one pool and one superslab for all classes. */
#include "empties/empties.h"

static union pool shared_pool; /* LIFO, under the pool lock */
static struct superslab shared_superslab;

union pool *empties_pool(unsigned class)
{
    return &shared_pool;
}

bool empties_reused(void)
{
    return true;
}

struct superslab *empties_superslab(unsigned class)
{
    return &shared_superslab;
}

void empties_reset(void)
{
    shared_pool.word = 0;
    shared_superslab = (struct superslab){ 0 };
}
