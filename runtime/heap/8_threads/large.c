/* Large blocks: runs of pages up to HUGE_BYTES, above that (or for wide alignments) a mapping each.
 *
 * Only an allocation starts the library: before that the span is empty and so is the table of huge blocks, and every
 * question about a pointer finds that it is no block of ours. */
#include "8_threads/large.h"

#include "1_base/bound.h"
#include "4_blocks/hardening/hardening.h"
#include "7_large/huge.h"
#include "2_system/locks.h"
#include "2_system/os.h"
#include "5_slab_policies/release/release.h"
#include "7_large/run_ages.h"
#include "7_large/run_cache/run_cache.h"
#include "7_large/run_pages.h"
#include "7_large/runs.h"
#include "6_slabs/slabs.h"
#include "6_slabs/slabs_back.h"
#include "8_threads/thread.h"
#include "6_slabs/transfer/transfer.h"

#include SAMPLING_GUARDS

#include <errno.h>

/* Of a run. bytes <= PTRDIFF_MAX */
static size_t pages_for(size_t bytes)
{
    size_t pages = (bytes + TAIL_BYTES + PAGE_BYTES - 1) / PAGE_BYTES;
    return pages > 0 ? pages : 1;
}

static size_t usable_of(size_t pages)
{
    return pages > 0 ? pages * PAGE_BYTES - TAIL_BYTES : 0;
}

static bool is_run(size_t bytes, size_t alignment)
{
    return !(LIVE_MAP && bytes == 0) && bytes <= HUGE_BYTES && alignment <= PAGE_BYTES;
}

/* A run that the thread kept, which may be longer than asked. */
static INLINED void *cached_alloc(size_t bytes)
{
    size_t pages = pages_for(bytes);
    void *block = run_cache_take(hs_self, &pages);
    if (block != NULL)
        hardening_seal(block, usable_of(pages), bytes);
    return block;
}

/* What the thread keeps serves, merged with its neighbours, before top rises. */
static void *run_alloc(size_t bytes, bool *zero)
{
    size_t pages = pages_for(bytes);
    hs_lock_large();
    count_locks(LOCKS_RUN_TAKE);
    run_cache_share(hs_self);
    void *block = runs_reuse(pages, zero);
    if (block == NULL && run_cache_lend(hs_self))
        block = runs_reuse(pages, zero);
    if (block == NULL)
        block = runs_grow(pages, zero);
    hs_unlock_large();
    if (block != NULL)
        hardening_seal(block, usable_of(pages), bytes);
    return block;
}

/* No run cache serves. NULL without memory. A run for which the span has no room is a huge block, unless it is for a small
 * request. */
static void *try_alloc(size_t bytes, size_t alignment, bool *zero)
{
    if (is_run(bytes, alignment)) {
        void *block = run_alloc(bytes, zero);
        if (block != NULL || os_refused || bytes <= SMALL_LIMIT)
            return block;
    }
    return huge_alloc(bytes, alignment, zero);
}

/* A limit on address space came after the start: what is only reserved goes. A limit that was set in its knowledge, above
 * all that was mapped, goes on counting it; under a lower limit there is no room to do so. Nothing goes on counting where the
 * program is about to lock what is mapped. */
static void vacate(bool locking)
{
    guarded_enter();
    hs_lock_pool();
    hs_lock_large();
    count_locks(LOCKS_OTHER);
    if (os_reserving && (locking || os_limited())) {
        size_t bytes = os_unreserve() + slabs_vacate() + pages_vacate() + guarded_vacate() + hardening_vacate();
        if (!locking)
            os_hold(bytes);
    }
    if (locking) {
        slabs_shrink();
        pages_shrink();
        huge_narrow();
    }
    hs_unlock_large();
    hs_unlock_pool();
    guarded_leave();
}

void hs_large_prepare_locking(void)
{
    int saved = errno;
    if (hs_started()) {
        vacate(true);
        huge_trim(true);
    }
    errno = saved;
}

/* The system refused `bytes` of memory. Address space that is only reserved, and then empty memory, stops counting against
 * limits: free runs first, then empty slabs, as much as the request and its records need, and LEAST at least, since each
 * piece may cost the process a mapping. A request larger than all that the heap ever held gets no empty memory. */
static COLD void recover(size_t bytes)
{
    enum { LEAST = 1 << 20, TABLES = 32 };
    vacate(false);
    if (bytes > __atomic_load_n(&hs_count.committed_peak, __ATOMIC_RELAXED))
        return;
    size_t wanted = bytes + bytes / TABLES + LEAST;
    run_cache_empty(hs_self);
    size_t found = huge_trim(true);
    hs_lock_large();
    count_locks(LOCKS_OTHER);
    found += ages_reclaim(wanted);
    hs_unlock_large();
    if (found < wanted) {
        hs_transfer_empty();
        slabs_reclaim(wanted - found);
    }
}

static void look_after_large(void)
{
    if (release_large_look_due())
        on_slow_path();
}

static APART void *alloc_missed(size_t bytes, size_t alignment, bool *zero)
{
    int saved = errno;
    void *block = NULL;
    if (bytes <= PTRDIFF_MAX && hs_started()) {
        block = try_alloc(bytes, alignment, zero);
        if (block == NULL && os_refused) {
            recover(bytes + alignment);
            block = try_alloc(bytes, alignment, zero);
        }
    }
    if (block != NULL) {
        look_after_large();
        hs_tell_listener();
    }
    errno = block != NULL ? saved : ENOMEM;
    return block;
}

GATE void *hs_large_alloc(size_t bytes, size_t alignment, bool *zero)
{
    void *block = is_run(bytes, alignment) ? cached_alloc(bytes) : NULL;
    if (block == NULL)
        return alloc_missed(bytes, alignment, zero);
    *zero = false;
    look_after_large();
    return block;
}

/* A small request comes here when its refill brought no block. If the system refused a superslab, the next refill finds room
 * for one. */
static APART void *malloc_missed(size_t bytes)
{
    bool zero;
    if (bytes > SMALL_LIMIT)
        return alloc_missed(bytes, GRAIN, &zero);
    if (os_refused)
        recover(SUPERSLAB_BYTES);
    return hs_large_alloc(bytes, GRAIN, &zero);
}

GATE void *hs_malloc_large(size_t bytes)
{
    void *block = bytes > SMALL_LIMIT && bytes <= HUGE_BYTES ? cached_alloc(bytes) : NULL;
    if (block == NULL)
        return malloc_missed(bytes);
    look_after_large();
    return block;
}

/* The thread's cache has no room as it is. */
static APART bool run_give(void *block, size_t pages)
{
    if (hs_self == &hs_no_heap && run_cache_claims_heap())
        hs_heap_start();
    if (run_cache_make_room(hs_self, pages)) {
        run_cache_put(hs_self, block, pages);
        return true;
    }
    hs_lock_large();
    count_locks(LOCKS_RUN_GIVE);
    runs_free(block);
    hs_unlock_large();
    return true;
}

static APART bool free_no_run(void *block)
{
    return !runs_span_holds(block) && (guarded_free(block) || huge_free(block));
}

bool hs_large_free(void *block)
{
    size_t pages = runs_claim(block);
    if (pages == 0)
        return free_no_run(block);
    hardening_unseal(block, usable_of(pages));
    if (!run_cache_fits(hs_self, pages))
        return run_give(block, pages);
    run_cache_put(hs_self, block, pages);
    return true;
}

bool hs_large_owns(const void *block)
{
    return runs_span_holds(block) || guarded_holds(block) || huge_holds(block);
}

GATE size_t hs_large_usable(const void *block)
{
    if (guarded_holds(block))
        return guarded_bytes(block);
    return runs_span_holds(block) ? usable_of(runs_pages(block)) : huge_pages(block) * PAGE_BYTES;
}

GATE size_t hs_large_bytes(const void *block)
{
    if (guarded_holds(block))
        return guarded_bytes(block);
    if (!runs_span_holds(block))
        return huge_bytes(block);
    size_t usable = usable_of(runs_pages(block));
    return usable > 0 ? hardening_bytes(block, usable) : 0;
}

GATE bool hs_large_empty(const void *block)
{
    return LIVE_MAP && !runs_span_holds(block) && huge_pages(block) == 0 && huge_ordinal(block) >= 0;
}

static bool run_extend(void *block, size_t more)
{
    hs_lock_large();
    count_locks(LOCKS_RUN_EXTEND);
    bool extended = runs_extend(block, more);
    hs_unlock_large();
    return extended;
}

static bool run_resize(void *block, size_t pages, size_t bytes)
{
    hardening_unseal(block, usable_of(pages));
    if (bytes <= SMALL_LIMIT || bytes > HUGE_BYTES)
        return false;
    size_t wanted = pages_for(bytes);
    if (wanted > pages ? !run_extend(block, wanted) : 2 * wanted < pages)
        return false;
    hardening_seal(block, usable_of(wanted > pages ? wanted : pages), bytes);
    return true;
}

/* A run that must move to grow becomes a huge block; NULL: it does not, and is as before. */
static void *run_remap(void *block, size_t pages, size_t bytes)
{
    if (bytes < REMAP_BYTES || bytes <= pages * PAGE_BYTES || runs_claim(block) == 0)
        return NULL;
    void *moved = huge_take_over(block, pages, bytes);
    if (moved == NULL) {
        runs_unclaim(block);
        return NULL;
    }
    hs_lock_large();
    count_locks(LOCKS_RUN_GIVE);
    runs_left(block);
    hs_unlock_large();
    return moved;
}

GATE void *hs_large_resize(void *block, size_t bytes)
{
    if (bytes > PTRDIFF_MAX)
        return NULL;
    int saved = errno;
    void *resized = NULL;
    size_t pages = runs_pages(block);
    if (pages > 0)
        resized = run_resize(block, pages, bytes) ? block : run_remap(block, pages, bytes);
    else if (!guarded_holds(block) && (bytes > HUGE_BYTES || bytes >= REMAP_BYTES))
        resized = huge_resize(block, bytes);
    if (resized != NULL)
        look_after_large();
    errno = saved;
    return resized;
}

size_t hs_large_trim(struct heap *heap)
{
    run_cache_empty(heap);
    hs_lock_large();
    count_locks(LOCKS_OTHER);
    size_t bytes = ages_trim();
    hs_unlock_large();
    return bytes + huge_trim(true);
}

int64_t hs_large_locate(const void *block)
{
    if (runs_pages(block) > 0)
        return (INT64_C(1) << 60) + runs_number(block);
    int64_t guarded = guarded_number(block);
    if (guarded >= 0)
        return (INT64_C(1) << 62) + guarded;
    int64_t ordinal = huge_ordinal(block);
    return ordinal >= 0 ? (INT64_C(1) << 61) + ordinal : -1;
}

void hs_large_census(size_t *run_bytes, size_t *used_bytes, size_t *huge_bytes, size_t *huge_blocks)
{
    hs_lock_large();
    count_locks(LOCKS_OTHER);
    struct run_census census = runs_census();
    hs_unlock_large();
    *run_bytes = census.committed_pages * PAGE_BYTES;
    *used_bytes = census.used_pages * PAGE_BYTES;
    huge_census(huge_bytes, huge_blocks);
    guarded_census(huge_bytes, huge_blocks);
}

void hs_large_check(void)
{
    uint32_t held = 0, pages = 0;
    for (struct heap *heap = &hs_no_heap; heap != NULL; heap = hs_heap_after(heap)) {
        struct run_cached cached = run_cache_check(heap);
        held += cached.runs;
        pages += cached.pages;
    }
    hs_lock_large();
    count_locks(LOCKS_OTHER);
    runs_check();
    struct run_census census = runs_census();
    check(census.runs_gone == held && census.gone_pages == pages, "what is no block and not free is in a run cache");
    hs_unlock_large();
    huge_check();
}

void hs_large_reset(size_t span_bytes)
{
    guarded_reset();
    huge_reset();
    runs_reset(span_bytes);
}
