/* Empties "dedicated": a pool and a superslab per class. */
#include "empties/empties.h"

#include <string.h>

static struct slab *pool[CLASS_COUNT]; /* LIFO each, under the pool lock */
static struct superslab superslab[CLASS_COUNT];

struct slab **empties_pool(unsigned class)
{
    return &pool[class];
}

struct superslab *empties_superslab(unsigned class)
{
    return &superslab[class];
}

void empties_reset(void)
{
    memset(pool, 0, sizeof pool);
    memset(superslab, 0, sizeof superslab);
}
