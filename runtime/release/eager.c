/* Release "eager": empty slabs beyond KEEP_SLABS, and runs of RELEASE_RUN_PAGES or more, give their pages back at once. */
#include "heap.h"
#include "os.h"

static size_t kept; /* slabs in the pools that have committed pages; under the pool lock */

void release_slab(struct slab *slab)
{
    if (slab->committed == 0)
        return;
    if (kept < KEEP_SLABS || !os_release((char *)hs_span + slab_offset(slab), SLAB_BYTES)) {
        kept++;
        return;
    }
    count_shared(&hs_count.releases, 1);
    count_shared(&hs_count.released_bytes, slab->committed);
    count_committed(-(int64_t)slab->committed);
    slab->committed = 0;
}

void release_reused(struct slab *slab)
{
    if (slab->committed > 0)
        kept--;
}

bool release_run(size_t pages)
{
    return pages >= RELEASE_RUN_PAGES;
}

void release_reset(void)
{
    kept = 0;
}
