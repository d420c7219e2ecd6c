/* Empties "once": retired slabs wait in one pool and never serve again; one superslab for all classes. */
#include "empties/empties.h"

static union pool spent; /* under the pool lock */
static struct superslab superslab;

union pool *empties_pool(unsigned class)
{
    (void)class;
    return &spent;
}

bool empties_reused(void)
{
    return false;
}

struct superslab *empties_superslab(unsigned class)
{
    (void)class;
    return &superslab;
}

void empties_reset(void)
{
    spent.word = 0;
    superslab = (struct superslab){ 0 };
}
