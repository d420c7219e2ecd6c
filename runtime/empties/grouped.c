/* Empties "grouped": a pool and a superslab per group of classes, at the place of the group's first class. */
#include "empties/empties.h"

#include <string.h>

extern const uint32_t hs_pool[CLASS_COUNT];

static union pool group_pool[CLASS_COUNT]; /* LIFO each, under the pool lock */
static struct superslab group_superslab[CLASS_COUNT];

union pool *empties_pool(unsigned class)
{
    return &group_pool[hs_pool[class]];
}

bool empties_reused(void)
{
    return true;
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
