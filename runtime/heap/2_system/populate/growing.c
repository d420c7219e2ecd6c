/* Populate "growing": by one call for each batch of more than a page. */
#include "2_system/populate/growing.h"

#include "2_system/os.h"

#include <stdint.h>
#include <string.h>

static uint32_t slabs_held[CLASS_COUNT]; /* by all heaps */

void populate_slab_acquired(unsigned class)
{
    __atomic_add_fetch(&slabs_held[class], 1, __ATOMIC_RELAXED);
}

void populate_slab_retired(unsigned class)
{
    __atomic_sub_fetch(&slabs_held[class], 1, __ATOMIC_RELAXED);
}

/* Blocks longer than a page may never be touched to their end. */
size_t populate_step(unsigned class, size_t stride)
{
    if (stride > PAGE_BYTES || POPULATE_MOST_BYTES / PAGE_BYTES <= 1)
        return PAGE_BYTES;
    size_t held = __atomic_load_n(&slabs_held[class], __ATOMIC_RELAXED);
    size_t pages = held * (SLAB_BYTES / PAGE_BYTES) / POPULATE_SHARE;
    size_t batch = 1;
    while (2 * batch <= pages && 2 * batch <= POPULATE_MOST_BYTES / PAGE_BYTES)
        batch *= 2;
    return batch * PAGE_BYTES;
}

void populate_reset(void)
{
    memset(slabs_held, 0, sizeof slabs_held);
}

void populate_carved(void *start, size_t bytes, size_t step)
{
    if (step > PAGE_BYTES)
        os_populate(start, bytes);
}
