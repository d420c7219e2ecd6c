/* Empties "grouped": a pool and a superslab per group of classes, at the place of the group's first class. */
#include "empties/empties.h"

#include <string.h>

extern const uint32_t hs_pool[CLASS_COUNT];

static struct slab *group_pool[CLASS_COUNT]; /* LIFO each, under the pool lock */
static struct superslab group_superslab[CLASS_COUNT];

struct slab **empties_pool(unsigned class)
{
    return &group_pool[hs_pool[class]];
}

struct slab *empties_retired(unsigned class)
{
    return group_pool[hs_pool[class]];
}

struct superslab *empties_superslab(unsigned class)
{
    return &group_superslab[hs_pool[class]];
}

void empties_reset(void)
{
    memset(group_pool, 0, sizeof group_pool);
    memset(group_superslab, 0, sizeof group_superslab);
}
