/* Empty slabs give back memory where somebody asks for it: their pages, or all but their address space. */
#include "6_slabs/slabs_back.h"

#include "2_system/locks.h"
#include "2_system/os.h"
#include "5_slab_policies/ownership/ownership.h"
#include "5_slab_policies/pool/pool.h"
#include "5_slab_policies/release/release.h"
#include "6_slabs/slabs.h"
#include "3_records/span.h"

/* An empty slab's pages go back now, whatever the policy says. Those that went lazily before go as well: all of them count,
 * since only the system knows which it had taken. A sealed slab has none. */
static size_t trim(struct slab *slab)
{
    size_t committed = slab->committed;
    if (committed == 0)
        return RELEASE_LAZILY && !slab->sealed && os_release(slab_start(slab), SLAB_BYTES, false) ? SLAB_BYTES : 0;
    release_reused(slab);
    return slab_give_back(slab, false) ? committed : 0;
}

static COLD size_t seal(struct slab *slab)
{
    if (slab->sealed || !os_decommit(slab_start(slab), SLAB_BYTES))
        return 0;
    if (slab->pooled)
        release_reused(slab);
    if (slab->committed > 0)
        slab_count_release(slab);
    slab->sealed = true;
    return SLAB_BYTES;
}

/* To the slabs in the pools, until this gave `wanted` bytes. */
static size_t to_pooled(size_t (*action)(struct slab *slab), size_t wanted)
{
    hs_lock_pool();
    count_locks(LOCKS_OTHER);
    size_t bytes = pool_act(action, wanted, __atomic_load_n(&hs_last_slab, __ATOMIC_ACQUIRE));
    hs_unlock_pool();
    return bytes;
}

size_t slabs_trim(void)
{
    return to_pooled(trim, SIZE_MAX);
}

size_t slabs_reclaim(size_t wanted)
{
    return to_pooled(seal, wanted);
}

static void seal_rest(struct superslab *superslab)
{
    size_t next = superslab_close(superslab), end = superslab->end;
    for (size_t slab = next; slab < end; slab += SLAB_BYTES)
        seal(slab_record(slab >> SLAB_SHIFT));
    if (next < end)
        superslab_open(superslab, next, end);
}

void slabs_shrink(void)
{
    slabs_unmap_ahead();
    for (struct heap *heap = &hs_no_heap; os_sparing && heap != NULL; heap = vacancies_after(heap))
        for (unsigned place = 0; place < VACANCY_PLACES; place++)
            seal_rest(&vacancies_of(heap)[place].superslab);
}
