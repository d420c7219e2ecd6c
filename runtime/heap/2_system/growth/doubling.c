/* Growth "doubling": steps of GROWTH_FIRST superslabs, then twice as many, up to GROWTH_MOST. */
#include "2_system/growth/doubling.h"

#include "plan.h"

#include <stdint.h>
#include <string.h>

static struct {
    size_t usable;
    uint32_t step; /* superslabs of the step that comes; 0: the first */
} regions[REGIONS];

size_t growth_usable(size_t region, size_t mapped)
{
    return regions[region].usable;
}

static uint32_t next_step(size_t region)
{
    return regions[region].step > 0 ? regions[region].step : GROWTH_FIRST;
}

size_t growth_step(size_t region)
{
    return (size_t)next_step(region) * SUPERSLAB_BYTES;
}

void growth_rose(size_t region, size_t usable)
{
    uint32_t twice = 2 * next_step(region);
    regions[region].usable = usable;
    regions[region].step = twice < GROWTH_MOST ? twice : GROWTH_MOST;
}

void growth_fell(size_t region, size_t usable)
{
    regions[region].usable = usable;
}

void growth_reset(void)
{
    memset(regions, 0, sizeof regions);
}
