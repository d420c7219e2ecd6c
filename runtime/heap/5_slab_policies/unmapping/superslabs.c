/* Unmapping "superslabs": a superslab is empty if all of its slabs lie in pools. With UNMAP_FROM empty superslabs, the one
 * that became empty last goes back to the OS.
 *
 * The first record of a superslab counts its slabs that are in no pool; slabs that were never handed out count too. Records
 * are not unmapped. So a slab stays on the list of all slabs while its superslab is unmapped. The first
 * records of unmapped superslabs are a LIFO through `next`, per region. */
#include "5_slab_policies/unmapping/superslabs.h"

#include "4_blocks/hardening/hardening.h"
#include "2_system/os.h"
#include "5_slab_policies/pool/pool.h"
#include "5_slab_policies/release/release.h"

#include <string.h>

enum {
    FIRST_SLAB = HEAD_BYTES / SLAB_BYTES, /* of a superslab, for blocks */
    END_SLAB = (SUPERSLAB_BYTES - GUARD_BYTES) / SLAB_BYTES,
    BLOCK_SLABS = END_SLAB - FIRST_SLAB,
    BLOCK_BYTES = BLOCK_SLABS * SLAB_BYTES,
    SUPERSLAB_SLABS = SUPERSLAB_BYTES / SLAB_BYTES,
};
_Static_assert(BLOCK_SLABS <= UINT16_MAX, "a record counts the slabs of a superslab");

static struct slab *unmapped[REGIONS];   /* the one that was unmapped last first */
static size_t empty_superslabs;          /* superslabs whose slabs are all in pools */

static struct slab *slab_in(const struct slab *superslab, size_t index)
{
    return slab_record(slab_number(superslab) + index);
}

static struct slab *superslab_of(const struct slab *slab)
{
    return slab_record(slab_number(slab) / SUPERSLAB_SLABS * SUPERSLAB_SLABS);
}

void unmapping_superslab_ready(struct heap *heap, size_t offset)
{
    slab_record(offset >> SLAB_SHIFT)->unpooled = BLOCK_SLABS;
}

bool unmapping_superslab_wanted(size_t region, size_t *offset, bool *huge)
{
    struct slab *superslab = unmapped[region];
    if (superslab == NULL || !os_commit(slab_start(slab_in(superslab, FIRST_SLAB)), BLOCK_BYTES))
        return false;
    unmapped[region] = superslab->next;
    count_own(&hs_count.superslabs_reused, 1);
    *offset = slab_offset(superslab);
    *huge = slab_in(superslab, FIRST_SLAB)->huge;
    return true;
}

void unmapping_slab_reused(struct slab *slab)
{
    struct slab *superslab = superslab_of(slab);
    if (superslab->unpooled == 0)
        empty_superslabs--;
    superslab->unpooled++;
}

/* A slab leaves its pool, wherever it lies there. */
static void leave_pool(struct heap *heap, struct slab *slab)
{
    *(slab->above != NULL ? &slab->above->next : &vacancy_for(heap, slab)->pool.top) = slab->next;
    unmapping_slab_covered(slab->next, slab->above);
}

/* An empty slab leaves its pool, and its memory is gone. */
static void unmap_slab(struct heap *heap, struct slab *slab)
{
    leave_pool(heap, slab);
    slab->pooled = false;
    slab->sealed = false;
    slab->unmapped = true;
    if (slab->committed == 0)
        return;
    release_reused(slab);
    hardening_released(slab_offset(slab));
    count_committed(-(int64_t)slab->committed);
    word_set(&slab->committed, 0);
}

static void unmap_superslab(struct heap *heap, struct slab *superslab)
{
    if (!os_decommit(slab_start(slab_in(superslab, FIRST_SLAB)), BLOCK_BYTES))
        return;
    for (size_t index = FIRST_SLAB; index < END_SLAB; index++)
        unmap_slab(heap, slab_in(superslab, index));
    struct slab **newest = &unmapped[slab_offset(superslab) / REGION_BYTES];
    superslab->next = *newest;
    *newest = superslab;
    empty_superslabs--;
    count_own(&hs_count.superslabs_unmapped, 1);
}

void unmapping_slab_pooled(struct heap *heap, struct slab *slab)
{
    struct slab *superslab = superslab_of(slab);
    if (--superslab->unpooled > 0)
        return;
    empty_superslabs++;
    if (empty_superslabs >= UNMAP_FROM)
        unmap_superslab(heap, superslab);
}

size_t unmapping_vacate(void)
{
    size_t bytes = 0;
    for (size_t region = 0; region < REGIONS; region++)
        for (const struct slab *superslab = unmapped[region]; superslab != NULL; superslab = superslab->next) {
            os_unmap(slab_start(slab_in(superslab, FIRST_SLAB)), BLOCK_BYTES);
            bytes += BLOCK_BYTES;
        }
    return bytes;
}

/* Slabs of a superslab that wait for their first use since it was unmapped; counts those in a pool. */
static size_t check_slabs(const struct slab *superslab, size_t *pooled)
{
    size_t waiting = 0;
    for (size_t index = FIRST_SLAB; index < END_SLAB; index++) {
        const struct slab *slab = slab_in(superslab, index);
        waiting += slab->unmapped;
        *pooled += slab->pooled;
        check(!slab->pooled || slab->next == NULL || slab->next->above == slab, "a slab in a pool is above the next");
        check(!slab->pooled || slab->above == NULL || slab->above->next == slab, "a slab in a pool is next to that above");
    }
    return waiting;
}

void unmapping_check(const size_t *mapped)
{
    size_t empty_found = 0, gone = 0, listed = 0;
    for (size_t region = 0; region < REGIONS; region++) {
        for (size_t offset = 0; offset < mapped[region]; offset += SUPERSLAB_BYTES) {
            const struct slab *superslab = slab_record((region * REGION_BYTES + offset) >> SLAB_SHIFT);
            size_t pooled = 0;
            bool is_gone = check_slabs(superslab, &pooled) == BLOCK_SLABS;
            check(superslab->unpooled == (is_gone ? 0 : BLOCK_SLABS - pooled), "unpooled == slabs that are in no pool");
            empty_found += pooled == BLOCK_SLABS;
            gone += is_gone;
        }
        for (const struct slab *superslab = unmapped[region]; superslab != NULL; superslab = superslab->next)
            listed += slab_in(superslab, FIRST_SLAB)->committed == 0;
    }
    check(empty_found == empty_superslabs, "empty_superslabs == superslabs whose slabs are all in pools");
    check(gone == listed, "each superslab that is unmapped is on the list of its region");
    check(gone == hs_count.superslabs_unmapped - hs_count.superslabs_reused, "unmapped - reused == superslabs that are unmapped");
}

void unmapping_reset(void)
{
    memset(unmapped, 0, sizeof unmapped);
    empty_superslabs = 0;
}
