/* The slabs: out of superslabs or the pools to a class, back when they are empty, their pages to the OS (docs/machine.md
 * section 6). */
#include "slabs.h"

#include "classifier/classifier.h"
#include "empties/empties.h"
#include "hardening/hardening.h"
#include "locks.h"
#include "os.h"
#include "release/release.h"
#include "remote/remote.h"

#include <string.h>

enum { SUPERSLAB_SLABS = SUPERSLAB_BYTES / SLAB_BYTES };

static struct slab *last_slab; /* the slab handed out last, under the pool lock */

/* Reserves a span and its tables: address space only, a superslab's part becomes memory when it is mapped. */
static bool reserve_span(size_t bytes)
{
    size_t slabs = bytes / SLAB_BYTES;
    size_t alignment = THP_ASKED && (size_t)HUGE_PAGE_BYTES > SUPERSLAB_BYTES ? HUGE_PAGE_BYTES : SUPERSLAB_BYTES;
    char *span = os_reserve(bytes, alignment);
    struct slab *table = span == NULL ? NULL : os_reserve(slabs * sizeof *table, 1);
    uint64_t *bitmap = table == NULL ? NULL : os_reserve(slabs * BITMAP_WORDS * sizeof *bitmap, 1);
    if (bitmap != NULL && hardening_reserve(bytes)) {
        hs_slabs = table;
        hs_marks = bitmap;
        hs_span_bytes = bytes;
        hs_span = (uintptr_t)span;
        return true;
    }
    if (span != NULL)
        os_unmap(span, bytes);
    if (table != NULL)
        os_unmap(table, slabs * sizeof *table);
    if (bitmap != NULL)
        os_unmap(bitmap, slabs * BITMAP_WORDS * sizeof *bitmap);
    return false;
}

/* A smaller span where the system grants no more; without any, runs serve small requests. Under a limit on address space it
 * takes at most 3/8 of that: the runs, the tables and the program need some too. */
void slabs_init(void)
{
    size_t span_limit = os_address_space() / 8 * 3;
    unsigned halvings = 0;
    size_t bytes = classifier_span(halvings);
    while (bytes > 0 && (bytes > span_limit || !reserve_span(bytes)))
        bytes = classifier_span(++halvings);
    if (bytes > 0 && THP_NEVER)
        os_huge_pages((void *)hs_span, bytes, false);
}

/* Makes memory of a superslab's address space and of its slabs' places in the tables. */
static bool commit_superslab(size_t offset)
{
    struct slab *slab = hs_slabs + (offset >> SLAB_SHIFT);
    return os_commit((char *)hs_span + offset, SUPERSLAB_BYTES - GUARD_BYTES) &&
           os_commit(slab, SUPERSLAB_SLABS * sizeof *slab) &&
           os_commit(marks_of(slab), SUPERSLAB_SLABS * BITMAP_WORDS * sizeof *hs_marks) && hardening_commit(offset);
}

static bool map_superslab(unsigned class, struct superslab *superslab)
{
    size_t offset = classifier_place(class);
    if (offset == SIZE_MAX || !commit_superslab(offset))
        return false;
    classifier_placed(class);
    *superslab = (struct superslab){ offset, offset + SUPERSLAB_BYTES - GUARD_BYTES };
    uint64_t mapped_before = hs_count.superslabs * SUPERSLAB_BYTES;
    count_own(&hs_count.superslabs, 1);
    if (THP_ASKED && mapped_before >= THP_SLABS_FROM_BYTES) {
        os_huge_pages((char *)hs_span + offset, SUPERSLAB_BYTES, true);
        for (size_t slab = superslab->next; slab < superslab->end; slab += SLAB_BYTES)
            hs_slabs[slab >> SLAB_SHIFT] = (struct slab){ .committed = SLAB_BYTES, .huge = true };
        count_committed((int64_t)(superslab->end - superslab->next));
    }
    return true;
}

/* The next slab of the superslab that serves the class; maps a new one when that is used up. */
static struct slab *next_slab(unsigned class)
{
    struct superslab *superslab = empties_superslab(class);
    if (superslab->next == superslab->end && !map_superslab(class, superslab))
        return NULL;
    struct slab *slab = hs_slabs + (superslab->next >> SLAB_SHIFT);
    superslab->next += SLAB_BYTES;
    slab->earlier = last_slab;
    last_slab = slab;
    count_own(&hs_count.slabs, 1);
    return slab;
}

/* A sealed slab's address space becomes memory again. */
static bool open_slab(struct slab *slab)
{
    if (!os_commit(slab_start(slab), SLAB_BYTES))
        return false;
    if (slab->huge || THP_NEVER)
        os_huge_pages(slab_start(slab), SLAB_BYTES, slab->huge);
    slab->sealed = false;
    return true;
}

/* The slab retired last; NULL if there is none, or the system refuses it memory. */
static struct slab *retired_slab(unsigned class)
{
    struct slab **pool = empties_pool(class);
    struct slab *slab = *pool;
    if (slab == NULL || (slab->sealed && !open_slab(slab)))
        return NULL;
    *pool = slab->next;
    slab->pooled = false;
    release_reused(slab);
    return slab;
}

struct slab *slabs_acquire(struct heap *heap, unsigned class)
{
    remote_lock_pool();
    struct slab *slab = retired_slab(class);
    if (slab == NULL)
        slab = next_slab(class);
    if (slab != NULL) {
        __atomic_store_n(&slab->class, (uint16_t)class, __ATOMIC_RELAXED); /* mallinfo reads it at any time */
        remote_own(slab, heap);
        classifier_adopt(slab);
        count_own(&heap->count[class].acquire, 1);
    }
    remote_unlock_pool();
    return slab;
}

/* An empty slab's pages went back. */
static void count_release(struct slab *slab)
{
    hardening_released(slab_offset(slab));
    count_shared(&hs_count.releases, 1);
    count_shared(&hs_count.released_bytes, slab->committed);
    count_committed(-(int64_t)slab->committed);
    word_set(&slab->committed, 0);
}

static bool give_pages_back(struct slab *slab, bool lazily)
{
    if (!os_release(slab_start(slab), SLAB_BYTES, lazily))
        return false;
    count_release(slab);
    return true;
}

void slabs_retire(struct heap *heap, struct slab *slab)
{
    check(slab->freed == slab->carved, "a retired slab has all its blocks");
    count_own(&heap->count[slab->class].retire, 1);
    memset(marks_of(slab), 0, BITMAP_WORDS * sizeof *hs_marks);
    slab->carved = slab->freed = 0;
    remote_lock_pool();
    remote_own(slab, NULL);
    classifier_retire(slab);
    slab->pooled = true;
    release_retired(slab);
    struct slab *due = release_due();
    while (due != NULL && give_pages_back(due, RELEASE_LAZILY))
        due = release_due();
    struct slab **pool = empties_pool(slab->class);
    slab->next = *pool;
    *pool = slab;
    remote_unlock_pool();
}

/* An empty slab's pages go back now, whatever the policy says; those that went lazily before as well. */
static size_t trim(struct slab *slab)
{
    size_t committed = slab->committed;
    if (committed == 0 && RELEASE_LAZILY)
        os_release(slab_start(slab), SLAB_BYTES, false);
    if (committed == 0)
        return 0;
    release_reused(slab);
    return give_pages_back(slab, false) ? committed : 0;
}

static size_t seal(struct slab *slab)
{
    if (slab->sealed || !os_decommit(slab_start(slab), SLAB_BYTES))
        return 0;
    release_reused(slab);
    if (slab->committed > 0)
        count_release(slab);
    slab->sealed = true;
    return SLAB_BYTES;
}

/* To the slabs in the pools, until so many bytes came of it. */
static size_t to_pooled(size_t (*action)(struct slab *slab), size_t wanted)
{
    size_t bytes = 0;
    hs_lock_pool();
    for (struct slab *slab = last_slab; slab != NULL && bytes < wanted; slab = slab->earlier)
        bytes += slab->pooled ? action(slab) : 0;
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

/* Committed to slabs that no class has had yet: on huge pages they come a superslab at a time. */
static size_t committed_ahead(void)
{
    size_t bytes = 0;
    const struct superslab *counted = NULL;
    for (unsigned class = 0; class < CLASS_COUNT; class++) {
        const struct superslab *superslab = empties_superslab(class);
        for (size_t slab = superslab->next; superslab != counted && slab < superslab->end; slab += SLAB_BYTES)
            bytes += hs_slabs[slab >> SLAB_SHIFT].committed;
        counted = superslab;
    }
    return bytes;
}

void slabs_census(size_t *slab_bytes, size_t *out_bytes)
{
    *out_bytes = 0;
    hs_lock_pool();
    *slab_bytes = committed_ahead();
    for (const struct slab *slab = last_slab; slab != NULL; slab = slab->earlier) {
        *slab_bytes += word_look(&slab->committed);
        *out_bytes += (size_t)word_look(&slab->out) * hs_class[slab->class].stride;
    }
    hs_unlock_pool();
}

static void check_marks(const struct slab *slab)
{
    uint32_t set = 0;
    for (uint32_t word = 0; word < BITMAP_WORDS; word++)
        set += (uint32_t)__builtin_popcountll(marks_of(slab)[word]);
    hs_check_slab(slab);
    check(set == slab->freed, "freed == marks in the bitmap");
    check(!slab->pooled || slab->carved == 0, "a slab in a pool has all its blocks");
}

void slabs_check(void)
{
    for (const struct slab *slab = last_slab; slab != NULL; slab = slab->earlier)
        check_marks(slab);
    release_check();
}

void slabs_reset(void)
{
    last_slab = NULL;
    size_t slabs = hs_span_bytes / SLAB_BYTES;
    if (slabs > 0) {
        os_unmap((void *)hs_span, hs_span_bytes);
        os_unmap(hs_slabs, slabs * sizeof *hs_slabs);
        os_unmap(hs_marks, slabs * BITMAP_WORDS * sizeof *hs_marks);
    }
    hs_span = NO_SPAN;
    hs_span_bytes = 0;
    slabs_init();
}
