/* The slab store: blocks of a class out of slabs and back (docs/machine.md sections 5 and 6). */
#include "heap.h"
#include "os.h"

#include <errno.h>
#include <string.h>

enum {
    SUPERSLAB_SLABS = SUPERSLAB_BYTES / SLAB_BYTES,
    NO_SPAN = UINTPTR_MAX - SLAB_SPAN_BYTES + 1, /* no program has an address so high */
};

uintptr_t hs_span = NO_SPAN;
size_t hs_span_bytes;
struct slab *hs_slabs;
static struct slab *newest; /* the slab handed out last, under the pool lock */
static uint64_t *marks;     /* BITMAP_WORDS per slab: bit i is set while block i is freed */

/* Reserves a span and its tables: address space only, a superslab's part becomes memory when it is mapped. */
static bool reserve(size_t bytes)
{
    size_t slabs = bytes / SLAB_BYTES;
    size_t alignment = THP_ASKED && (size_t)HUGE_PAGE_BYTES > SUPERSLAB_BYTES ? HUGE_PAGE_BYTES : SUPERSLAB_BYTES;
    char *span = os_reserve(bytes, alignment);
    struct slab *table = span == NULL ? NULL : os_reserve(slabs * sizeof *table, 1);
    uint64_t *bitmap = table == NULL ? NULL : os_reserve(slabs * BITMAP_WORDS * sizeof *bitmap, 1);
    if (bitmap != NULL && hardening_reserve(bytes)) {
        hs_slabs = table;
        marks = bitmap;
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
void hs_store_init(void)
{
    size_t span_limit = os_address_space() / 8 * 3;
    unsigned halvings = 0;
    size_t bytes = classifier_span(halvings);
    while (bytes > 0 && (bytes > span_limit || !reserve(bytes)))
        bytes = classifier_span(++halvings);
    if (bytes > 0 && THP_NEVER)
        os_huge_pages((void *)hs_span, bytes, false);
}

static void check_slab(const struct slab *slab)
{
    check(slab->out + slab->freed == slab->carved, "out + freed == carved");
    check(slab->carved <= hs_class[slab->class].blocks, "carved <= blocks");
}

static uint64_t *marks_of(const struct slab *slab)
{
    return marks + (size_t)(slab - hs_slabs) * BITMAP_WORDS;
}

static char *slab_start(const struct slab *slab)
{
    return (char *)hs_span + slab_offset(slab);
}

/* Makes memory of a superslab's address space and of its slabs' places in the tables. */
static bool commit_superslab(size_t offset)
{
    struct slab *slab = hs_slabs + (offset >> SLAB_SHIFT);
    return os_commit((char *)hs_span + offset, SUPERSLAB_BYTES - GUARD_BYTES) &&
           os_commit(slab, SUPERSLAB_SLABS * sizeof *slab) &&
           os_commit(marks_of(slab), SUPERSLAB_SLABS * BITMAP_WORDS * sizeof *marks) && hardening_commit(offset);
}

static bool map_superslab(unsigned class, struct superslab *superslab)
{
    size_t offset = classifier_place(class);
    if (offset == SIZE_MAX || !commit_superslab(offset))
        return false;
    classifier_placed(class);
    *superslab = (struct superslab){ offset, offset + SUPERSLAB_BYTES - GUARD_BYTES };
    uint64_t mapped_before = hs_count.superslabs++ * SUPERSLAB_BYTES;
    if (THP_ASKED && mapped_before >= THP_FROM_BYTES) {
        os_huge_pages((char *)hs_span + offset, SUPERSLAB_BYTES, true);
        for (size_t slab = superslab->next; slab < superslab->end; slab += SLAB_BYTES)
            hs_slabs[slab >> SLAB_SHIFT].committed = SLAB_BYTES;
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
    slab->older = newest;
    newest = slab;
    hs_count.slabs++;
    return slab;
}

/* A sealed slab's address space becomes memory again. */
static bool open(struct slab *slab)
{
    if (!os_commit(slab_start(slab), SLAB_BYTES))
        return false;
    if (THP_NEVER)
        os_huge_pages(slab_start(slab), SLAB_BYTES, false);
    slab->sealed = false;
    return true;
}

/* The slab retired last; NULL if there is none, or the system refuses it memory. */
static struct slab *retired_slab(unsigned class)
{
    struct slab **pool = empties_pool(class);
    struct slab *slab = *pool;
    if (slab == NULL || (slab->sealed && !open(slab)))
        return NULL;
    *pool = slab->next;
    slab->pooled = false;
    release_reused(slab);
    return slab;
}

static struct slab *acquire(struct heap *heap, unsigned class)
{
    remote_lock_pool();
    struct slab *slab = retired_slab(class);
    if (slab == NULL)
        slab = next_slab(class);
    if (slab != NULL) {
        slab->class = (uint16_t)class;
        remote_own(slab, heap);
        classifier_adopt(slab);
        heap->count[class].acquire++;
    }
    remote_unlock_pool();
    return slab;
}

static void retire(struct heap *heap, struct slab *slab)
{
    check(slab->freed == slab->carved, "a retired slab has all its blocks");
    heap->count[slab->class].retire++;
    memset(marks_of(slab), 0, BITMAP_WORDS * sizeof *marks);
    slab->carved = slab->freed = 0;
    remote_lock_pool();
    remote_own(slab, NULL);
    classifier_retire(slab);
    slab->pooled = true;
    release_slab(slab);
    struct slab **pool = empties_pool(slab->class);
    slab->next = *pool;
    *pool = slab;
    remote_unlock_pool();
}

static void *block_at(const struct slab *slab, uint32_t index)
{
    const struct class_plan *plan = &hs_class[slab->class];
    return slab_start(slab) + plan->first + (size_t)index * plan->stride;
}

/* Freed blocks, lowest index first. */
static uint32_t take_freed(struct slab *slab, void **blocks, uint32_t want)
{
    uint32_t taken = 0;
    uint64_t *words = marks_of(slab);
    for (uint32_t word = 0; taken < want && taken < slab->freed; word++) {
        while (words[word] != 0 && taken < want) {
            uint32_t index = word * 64 + (uint32_t)__builtin_ctzll(words[word]);
            words[word] &= words[word] - 1;
            blocks[taken++] = block_at(slab, index);
        }
    }
    slab->freed -= taken;
    slab->out += taken;
    return taken;
}

/* Blocks never handed out before, in ascending order: only touched pages cost memory. */
static uint32_t carve(struct slab *slab, void **blocks, uint32_t want)
{
    const struct class_plan *plan = &hs_class[slab->class];
    uint32_t left = plan->blocks - slab->carved;
    uint32_t taken = want < left ? want : left;
    for (uint32_t index = 0; index < taken; index++)
        blocks[index] = block_at(slab, slab->carved + index);
    slab->carved += taken;
    slab->out += taken;
    return taken;
}

static void commit_carved(struct slab *slab)
{
    const struct class_plan *plan = &hs_class[slab->class];
    size_t bytes = plan->first + (size_t)slab->carved * plan->stride;
    bytes = (bytes + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
    if (bytes > SLAB_BYTES)
        bytes = SLAB_BYTES;
    if (bytes > slab->committed) {
        count_committed((int64_t)(bytes - slab->committed));
        slab->committed = (uint32_t)bytes;
    }
}

static uint32_t take(struct heap *heap, unsigned class, void **blocks, uint32_t want)
{
    struct class_slabs *slabs = &remote_store(heap)->of[class];
    struct class_count *count = &heap->count[class];
    uint32_t taken = 0;
    while (taken < want) {
        struct slab *slab = choice_gives(slabs);
        if (slab == NULL) {
            slab = acquire(heap, class);
            if (slab == NULL)
                break;
            choice_attach(slabs, slab);
        }
        uint32_t reused = take_freed(slab, blocks + taken, want - taken);
        taken += reused;
        count->reuse += reused;
        uint32_t carved = carve(slab, blocks + taken, want - taken);
        taken += carved;
        count->carve += carved;
        commit_carved(slab);
        check_slab(slab);
        if (!slab_available(slab))
            choice_remove(slabs, slab);
    }
    return taken;
}

uint32_t hs_take(struct heap *heap, unsigned class, void **blocks, uint32_t want)
{
    int saved = errno;
    remote_lock_store();
    uint32_t taken = take(heap, class, blocks, want);
    remote_unlock_store();
    classifier_mark(blocks, taken, class);
    heap->count[class].refill++;
    heap->count[class].refilled += taken;
    errno = saved;
    return taken;
}

static inline void give(struct heap *heap, struct class_slabs *slabs, unsigned class, void *block)
{
    struct slab *slab = slab_of(block);
    bool was_available = slab_available(slab);
    uint32_t index = block_index(slab, block);
    uint64_t bit = UINT64_C(1) << (index % 64);
    check(slab->class == class, "a block is freed into its own class");
    check((marks_of(slab)[index / 64] & bit) == 0, "a given block was out");
    if (ZERO_FREED)
        classifier_unmark(block);
    marks_of(slab)[index / 64] |= bit;
    slab->freed++;
    slab->out--;
    check_slab(slab);
    if (!was_available)
        choice_add(slabs, slab);
    if (slab->out == 0 && choice_lets_go(slabs, slab)) {
        choice_remove(slabs, slab);
        retire(heap, slab);
    }
}

void hs_give(struct heap *heap, unsigned class, void *block)
{
    give(heap, &remote_store(heap)->of[class], class, block);
}

void hs_give_all(struct heap *heap, unsigned class, void *const *blocks, uint32_t count)
{
    struct class_slabs *slabs = &remote_store(heap)->of[class];
    remote_lock_store();
    for (uint32_t index = 0; index < count; index++)
        give(heap, slabs, class, blocks[index]);
    remote_unlock_store();
}

/* An empty slab's pages went back. */
static void count_release(struct slab *slab)
{
    hardening_released(slab_offset(slab));
    count_shared(&hs_count.releases, 1);
    count_shared(&hs_count.released_bytes, slab->committed);
    count_committed(-(int64_t)slab->committed);
    slab->committed = 0;
}

bool hs_release_slab(struct slab *slab, bool lazily)
{
    if (!os_release(slab_start(slab), SLAB_BYTES, lazily))
        return false;
    count_release(slab);
    return true;
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
    return hs_release_slab(slab, false) ? committed : 0;
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
    for (struct slab *slab = newest; slab != NULL && bytes < wanted; slab = slab->older)
        bytes += slab->pooled ? action(slab) : 0;
    hs_unlock_pool();
    return bytes;
}

size_t hs_store_trim(void)
{
    return to_pooled(trim, SIZE_MAX);
}

size_t hs_store_reclaim(size_t wanted)
{
    return to_pooled(seal, wanted);
}

void hs_store_census(size_t *slab_bytes, size_t *out_bytes)
{
    *slab_bytes = *out_bytes = 0;
    hs_lock_pool();
    for (const struct slab *slab = newest; slab != NULL; slab = slab->older) {
        *slab_bytes += slab->committed;
        *out_bytes += (size_t)slab->out * hs_class[slab->class].stride;
    }
    hs_unlock_pool();
}

static void check_marks(const struct slab *slab)
{
    uint32_t set = 0;
    for (uint32_t word = 0; word < BITMAP_WORDS; word++)
        set += (uint32_t)__builtin_popcountll(marks_of(slab)[word]);
    check_slab(slab);
    check(set == slab->freed, "freed == marks in the bitmap");
    check(!slab->pooled || slab->carved == 0, "a slab in a pool has all its blocks");
}

void hs_store_check(void)
{
    for (const struct slab *slab = newest; slab != NULL; slab = slab->older)
        check_marks(slab);
    release_check();
}

void hs_store_reset(void)
{
    newest = NULL;
    size_t slabs = hs_span_bytes / SLAB_BYTES;
    if (slabs > 0) {
        os_unmap((void *)hs_span, hs_span_bytes);
        os_unmap(hs_slabs, slabs * sizeof *hs_slabs);
        os_unmap(marks, slabs * BITMAP_WORDS * sizeof *marks);
    }
    hs_span = NO_SPAN;
    hs_span_bytes = 0;
    hs_store_init();
}
