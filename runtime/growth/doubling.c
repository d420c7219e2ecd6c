/* Growth "doubling": steps of GROWTH_FIRST superslabs, then twice as many, up to GROWTH_MOST. */
#include "growth/doubling.h"

#include "plan.h"

#include <stdint.h>
#include <string.h>

static size_t usable_bytes[REGIONS];
static uint32_t steps[REGIONS]; /* superslabs of the step that comes; 0: the first */

size_t growth_usable(size_t region, size_t mapped)
{
    return usable_bytes[region];
}

static uint32_t next_step(size_t region)
{
    return steps[region] > 0 ? steps[region] : GROWTH_FIRST;
}

size_t growth_step(size_t region)
{
    return (size_t)next_step(region) * SUPERSLAB_BYTES;
}

void growth_rose(size_t region, size_t usable)
{
    uint32_t twice = 2 * next_step(region);
    usable_bytes[region] = usable;
    steps[region] = twice < GROWTH_MOST ? twice : GROWTH_MOST;
}

void growth_reset(void)
{
    memset(usable_bytes, 0, sizeof usable_bytes);
    memset(steps, 0, sizeof steps);
}
