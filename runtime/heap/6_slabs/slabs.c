/* The slabs: out of superslabs or the pools to a class, back when they are empty, their pages to the OS (docs/machine.md,
 * 'slabs and superslabs'). */
#include "6_slabs/slabs.h"

#include "1_base/bound.h"
#include "4_blocks/classifier/classifier.h"
#include "4_blocks/freed_blocks/freed_blocks.h"
#include "2_system/growth/growth.h"
#include "4_blocks/hardening/hardening.h"
#include "2_system/locks.h"
#include "2_system/os.h"
#include "2_system/thp/thp.h"
#include "5_slab_policies/ownership/ownership.h"
#include "5_slab_policies/pool/pool.h"
#include "2_system/populate/populate.h"
#include "5_slab_policies/release/release.h"
#include "5_slab_policies/remote/remote.h"
#include "5_slab_policies/shards/shards.h"
#include "4_blocks/slab_numbers.h"
#include "moments.h"

#include <string.h>

enum {
    SPAN_ALIGNMENT = (uint64_t)THP_ALIGNMENT > (uint64_t)SUPERSLAB_BYTES ? THP_ALIGNMENT : SUPERSLAB_BYTES,
    MAP_SPACE = (SLAB_CLASSES_BYTES + SPAN_ALIGNMENT - 1) / SPAN_ALIGNMENT * SPAN_ALIGNMENT, /* ends with the class map */
    TABLE_BYTES = (RECORDS_BYTES + MOST_PAGE_BYTES - 1) / MOST_PAGE_BYTES * MOST_PAGE_BYTES,
    MARKS_BYTES = (sizeof(uint64_t) * BITMAP_WORDS * SPAN_SLABS + MOST_PAGE_BYTES - 1) / MOST_PAGE_BYTES * MOST_PAGE_BYTES,
    LIVE_BYTES = (LIVE_MAP * SLAB_SPAN_BYTES / GRAIN + MOST_PAGE_BYTES - 1) / MOST_PAGE_BYTES * MOST_PAGE_BYTES,
    SPAN_PARTS = 6,
};

struct slab *hs_last_slab;
static size_t mapped[REGIONS]; /* bytes of superslabs from a region's start on, under the pool lock */
static size_t region_room = REGION_BYTES; /* in each region for superslabs */

/* A part of the span, and its slabs' places in the tables. */
static void span_parts(size_t offset, size_t bytes, struct os_part part[SPAN_PARTS])
{
    size_t first = offset >> SLAB_SHIFT, slabs = bytes >> SLAB_SHIFT;
    part[0] = (struct os_part){ (char *)hs_span + offset, bytes };
    part[1] = (struct os_part){ slab_record(first), TABLE_BYTES > 0 ? slabs * sizeof(struct slab) : 0 };
    part[2] = (struct os_part){ hs_marks + first * BITMAP_WORDS, slabs * BITMAP_WORDS * sizeof *hs_marks };
    part[3] = (struct os_part){ slab_row(first * CLASS_MAP_BYTES), SLAB_CLASSES_BYTES > 0 ? slabs * CLASS_MAP_BYTES : 0 };
    part[4] = (struct os_part){ hs_live + offset / GRAIN, LIVE_MAP * bytes / GRAIN };
    part[5] = owners_part(offset, bytes);
}

/* A pointer that is no block may lie anywhere in the span. */
static void make_readable(void)
{
    os_readable(slab_row(0), SLAB_CLASSES_BYTES);
    os_readable(hs_live, LIVE_BYTES);
}

size_t slabs_space(void)
{
    return SPAN_ALIGNMENT + MAP_SPACE + SLAB_SPAN_BYTES + TABLE_BYTES + MARKS_BYTES + LIVE_BYTES + OWNERS_SPACE;
}

void slabs_init(void)
{
    char *start = os_range(MAP_SPACE + SLAB_SPAN_BYTES, SPAN_ALIGNMENT);
    hs_slabs = os_range(TABLE_BYTES, PAGE_BYTES);
    hs_marks = os_range(MARKS_BYTES, PAGE_BYTES);
    hs_live = os_range(LIVE_BYTES, PAGE_BYTES);
    owners_init();
    if (ENCODE_LINKS)
        hs_link_key = os_random();
    hs_span_bytes = SLAB_SPAN_BYTES;
    hs_span = (uintptr_t)start + MAP_SPACE; /* last: until then no pointer lies in the span */
    make_readable();
}

/* Sealed slabs of a region's superslabs: address space, which is mapped again with the slab's memory. */
static size_t vacate_sealed(size_t from, size_t end)
{
    size_t bytes = 0;
    for (size_t offset = from; offset < end; offset += SLAB_BYTES)
        if (offset % SUPERSLAB_BYTES >= HEAD_BYTES && slab_record(offset >> SLAB_SHIFT)->sealed) {
            os_unmap((char *)hs_span + offset, SLAB_BYTES);
            bytes += SLAB_BYTES;
        }
    return bytes;
}

size_t slabs_vacate(void)
{
    struct os_part before_map = { (char *)hs_span - MAP_SPACE, MAP_SPACE - SLAB_CLASSES_BYTES };
    size_t bytes = os_unmap_all(&before_map, 1);
    for (size_t region = 0; region < REGIONS; region++) {
        struct os_part part[SPAN_PARTS];
        size_t start = region * REGION_BYTES, usable = growth_usable(region, mapped[region]);
        span_parts(start + usable, REGION_BYTES - usable, part);
        bytes += os_unmap_all(part, SPAN_PARTS) + vacate_sealed(start, start + mapped[region]);
    }
    return bytes + on_vacate();
}

void slabs_unmap_ahead(void)
{
    for (size_t region = 0; region < REGIONS; region++) {
        struct os_part part[SPAN_PARTS];
        size_t from = mapped[region], ahead = growth_usable(region, from) - from;
        if (ahead == 0)
            continue;
        span_parts(region * REGION_BYTES + from, ahead, part);
        os_unmap_all(part, SPAN_PARTS);
        growth_fell(region, from);
    }
}

/* Makes memory of superslabs' address space and of their slabs' places in the tables; with guards, of one superslab. Where
 * they are sealed, of the tables alone: each slab is opened when it is first taken. */
static bool commit_superslabs(size_t offset, size_t bytes, bool sealed)
{
    struct os_part part[SPAN_PARTS];
    span_parts(offset, bytes, part);
    part[0].bytes = sealed ? HEAD_BYTES : bytes - GUARD_BYTES;
    const bool committed = os_commit_all(part, SPAN_PARTS);
    for (size_t slab = offset + HEAD_BYTES; committed && sealed && slab < offset + bytes - GUARD_BYTES; slab += SLAB_BYTES)
        slab_record(slab >> SLAB_SHIFT)->sealed = true;
    return committed;
}

/* Makes the region's next superslab usable, with others behind it if they grow together and the system grants that. Under a
 * limit, those are sealed that come before SPARED_BYTES of slabs are handed out, and those that the system refuses as a whole:
 * where classes have superslabs of their own, many are mapped for few slabs. */
static bool make_usable(size_t region)
{
    size_t from = mapped[region], offset = region * REGION_BYTES + from;
    if (growth_usable(region, from) > from)
        return true;
    bool sparing = os_sparing && __atomic_load_n(&hs_count.slabs, __ATOMIC_RELAXED) * SLAB_BYTES < SPARED_BYTES;
    size_t bytes = sparing ? SUPERSLAB_BYTES : growth_step(region), room = region_room - from;
    if ((bytes > SUPERSLAB_BYTES && bytes > room) || !commit_superslabs(offset, bytes, sparing)) {
        bool one = bytes > SUPERSLAB_BYTES && commit_superslabs(offset, SUPERSLAB_BYTES, false);
        if (!one && (sparing || !os_sparing || !commit_superslabs(offset, SUPERSLAB_BYTES, true)))
            return false;
        bytes = SUPERSLAB_BYTES;
    }
    growth_rose(region, from + bytes);
    return true;
}

bool slabs_map(struct heap *heap, unsigned class, struct superslab *superslab)
{
    size_t region = REGIONS > 1 ? class : 0;
    size_t offset = region * REGION_BYTES + mapped[region];
    os_refused = false;
    bool huge = thp_superslab(mapped[region], hs_class[class].stride);
    if (!on_superslab_wanted(region, &offset, &huge)) {
        if (mapped[region] >= region_room || !make_usable(region))
            return false;
        mapped[region] += SUPERSLAB_BYTES;
        count_own(&hs_count.superslabs, 1);
    }
    on_superslab_ready(heap, offset);
    size_t first = offset + HEAD_BYTES, end = offset + SUPERSLAB_BYTES - GUARD_BYTES;
    huge = huge && !slab_record(first >> SLAB_SHIFT)->sealed;
    on_memory_mapped(shard_of(heap, class), (char *)hs_span + offset, SUPERSLAB_BYTES - GUARD_BYTES);
    thp_advise((char *)hs_span + offset, SUPERSLAB_BYTES - GUARD_BYTES, huge);
    if (huge) {
        for (size_t slab = first; slab < end; slab += SLAB_BYTES) {
            slab_record(slab >> SLAB_SHIFT)->committed = SLAB_BYTES;
            slab_record(slab >> SLAB_SHIFT)->huge = true;
        }
        populate((char *)hs_span + first, end - first);
        count_committed((int64_t)(end - first));
    }
    superslab_open(superslab, first, end);
    return true;
}

/* A new superslab, where the heap's are used up. */
static bool map_for_want(struct heap *heap, unsigned class, struct superslab *superslab)
{
    if (!slabs_map(heap, class, superslab))
        return false;
    set_stage(STAGE_SUPERSLAB);
    on_superslab_late();
    return true;
}

/* The next slab of a superslab, or of a new one when it is used up. */
GATE static struct slab *new_slab(struct heap *heap, unsigned class, struct superslab *superslab)
{
    struct slab *slab;
    pool_enter_map();
    while ((slab = superslab_claim(superslab, &hs_last_slab)) == NULL && map_for_want(heap, class, superslab))
        continue;
    pool_leave_map();
    return slab;
}

/* The next slab of the superslab that serves the class; maps a new one when that is used up. */
static struct slab *next_slab(struct heap *heap, unsigned class)
{
    struct superslab *superslab = &vacancy_of(heap, class)->superslab;
    set_stage(STAGE_CLAIM);
    struct slab *slab = CLAIMS_ALONE ? superslab_claim(superslab, &hs_last_slab) : NULL;
    return slab != NULL ? slab : new_slab(heap, class, superslab);
}

/* A sealed slab's address space becomes memory again. */
GATE COLD static bool open_slab(struct slab *slab)
{
    pool_enter_map();
    slab->sealed = !os_commit(slab_start(slab), SLAB_BYTES);
    if (!slab->sealed) {
        on_memory_mapped(shard_to(slab, slab->class), slab_start(slab), SLAB_BYTES);
        thp_advise(slab_start(slab), SLAB_BYTES, slab->huge);
    }
    pool_leave_map();
    return !slab->sealed;
}

/* The slab retired last; NULL if there is none, or the system refuses it memory. */
static struct slab *retired_slab(struct heap *heap, unsigned class)
{
    struct slab *slab = pool_pop(heap, class);
    if (slab == NULL)
        return NULL;
    if (slab->sealed && !open_slab(slab)) {
        pool_push(heap, slab);
        return NULL;
    }
    set_stage(slab->class == class ? STAGE_SAME : STAGE_OTHER);
    slab->pooled = false;
    on_slab_reused(slab);
    release_reused(slab);
    return slab;
}

/* Memory for a slab that no class has had yet; without any it waits in the pool. */
static struct slab *opened(struct heap *heap, unsigned class, struct slab *slab)
{
    if (slab == NULL || !slab->sealed || open_slab(slab))
        return slab;
    slab->class = (uint16_t)class; /* whose pool it is */
    slab->pooled = true;
    pool_push(heap, slab);
    on_slab_pooled(heap, slab);
    return NULL;
}

struct slab *slabs_acquire(struct heap *heap, unsigned class)
{
    pool_enter();
    struct slab *slab = retired_slab(heap, class);
    if (slab == NULL)
        slab = opened(heap, class, next_slab(heap, class));
    if (slab != NULL) {
        __atomic_store_n(&slab->class, (uint16_t)class, __ATOMIC_RELAXED); /* mallinfo reads it at any time */
        slab_sized(slab, class);
        freed_begin(slab);
        remote_own(slab, heap);
        classifier_set(slab, 1 + class);
        on_slab_acquired(class);
        count_own(&heap->count[class].acquire, 1);
    } else {
        set_stage(STAGE_NONE);
    }
    count_locks(LOCKS_ACQUIRE + stage_now());
    pool_leave();
    return slab;
}

void slab_count_release(struct slab *slab)
{
    hardening_released(slab_offset(slab));
    count_shared(&hs_count.releases, 1);
    count_shared(&hs_count.released_bytes, slab->committed);
    count_committed(-(int64_t)slab->committed);
    word_set(&slab->committed, 0);
}

bool slab_give_back(struct slab *slab, bool lazily)
{
    if (!os_release(slab_start(slab), SLAB_BYTES, lazily))
        return false;
    slab_count_release(slab);
    return true;
}

void slabs_retire(struct heap *heap, struct slab *slab)
{
    check(slab->freed == slab->carved, "a retired slab has all its blocks");
    freed_end(slab);
    on_slab_retired(slab->class);
    slab->carved = slab->freed = 0;
    pool_enter();
    count_locks(LOCKS_RETIRE);
    count_own(&heap->count[slab->class].retire, 1);
    remote_own(slab, NULL);
    classifier_set(slab, 0);
    slab->pooled = true;
    release_retired(slab);
    pool_push(heap, slab);
    on_slab_pooled(heap, slab);
    slabs_release_due();
    pool_leave();
}

static void check_freed(const struct slab *slab)
{
    hs_check_slab(slab);
    check(slab->pooled || slab->unmapped || freed_found(slab) == freed_ready(slab), "freed == the freed blocks that a take would find");
    check(!slab->pooled || slab->carved == 0, "a slab in a pool has all its blocks");
}

void slabs_check(void)
{
    uint64_t handed_out = __atomic_load_n(&hs_count.slabs, __ATOMIC_RELAXED), listed = 0; /* a slab is listed, then counted */
    for (const struct slab *slab = hs_last_slab; slab != NULL; slab = slab->earlier) {
        check_freed(slab);
        listed++;
    }
    check(listed >= handed_out, "the list of all slabs has each slab that was handed out");
    on_check(mapped);
    release_check();
}

void slabs_reset(size_t span_bytes)
{
    hs_last_slab = NULL;
    struct os_part part[SPAN_PARTS];
    span_parts(0, SLAB_SPAN_BYTES, part);
    for (size_t index = 0; index < SPAN_PARTS; index++)
        os_decommit(part[index].start, part[index].bytes);
    make_readable();
    memset(mapped, 0, sizeof mapped);
    memset(vacancies_of(&hs_no_heap), 0, VACANCY_PLACES * sizeof(struct vacancy));
    size_t most = span_bytes / REGIONS > SUPERSLAB_BYTES ? span_bytes / REGIONS : SUPERSLAB_BYTES;
    region_room = most < REGION_BYTES ? most : REGION_BYTES;
}
