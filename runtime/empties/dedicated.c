/* Empties "dedicated": a pool and a superslab per class. */
#include "empties/empties.h"

#include <string.h>

static union pool class_pool[CLASS_COUNT]; /* LIFO each, under the pool lock */
static struct superslab class_superslab[CLASS_COUNT];

union pool *empties_pool(unsigned class)
{
    return &class_pool[class];
}

bool empties_reused(void)
{
    return true;
}

struct superslab *empties_superslab(unsigned class)
{
    return &class_superslab[class];
}

void empties_reset(void)
{
    memset(class_pool, 0, sizeof class_pool);
    memset(class_superslab, 0, sizeof class_superslab);
}
