/* Release: a slow operation looks at what is empty, where time passes or memory has a limit. Without a lock. */
#include "8_threads/release/looks.h"

#include "2_system/locks.h"
#include "3_records/heap.h"
#include "5_slab_policies/release/release.h"
#include "6_slabs/slabs.h"
#include "7_large/huge.h"
#include "7_large/run_ages.h"
#include "7_large/run_cache/run_cache.h"

void release_slow_path(void)
{
    if (!release_look_due())
        return;
    hs_lock_pool();
    count_locks(LOCKS_LOOK);
    slabs_release_due();
    hs_unlock_pool();
    hs_lock_large();
    count_locks(LOCKS_LOOK);
    ages_release();
    hs_unlock_large();
    if (!release_near_limit())
        return;
    run_cache_spill(hs_self);
    huge_trim(false);
}
