/* The clock of a delay: it counts what was freed. */
#include "5_slab_policies/release/release.h"

/* Slabs retired, runs freed and huge blocks unmapped, or their bytes. They come under different locks. */
static uint64_t ticks;

uint64_t release_clock(void)
{
    return __atomic_load_n(&ticks, __ATOMIC_RELAXED);
}

void release_freed(size_t bytes)
{
    __atomic_fetch_add(&ticks, RELEASE_DELAY_IN_BYTES ? bytes : 1, __ATOMIC_RELAXED);
}
