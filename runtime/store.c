/* The slab store: blocks of a class out of slabs and back (docs/machine.md sections 5 and 6). */
#include "heap.h"
#include "os.h"

#include <errno.h>
#include <string.h>

uintptr_t hs_span = UINTPTR_MAX - SLAB_SPAN_BYTES + 1; /* until the span exists no pointer lies in it */
size_t hs_span_bytes;
struct slab *hs_slabs;
static struct slab *newest; /* the slab handed out last, under the pool lock */
static uint64_t *marks;     /* BITMAP_WORDS per slab: bit i is set while block i is freed */

/* Reserves the span and its tables; a smaller span where the system grants no more. */
bool hs_store_init(size_t span_limit)
{
    for (size_t bytes = SLAB_SPAN_BYTES; bytes >= SMALLEST_SLAB_SPAN; bytes /= 2) {
        if (bytes > span_limit && bytes / 2 >= SMALLEST_SLAB_SPAN)
            continue;
        size_t slabs = bytes / SLAB_BYTES;
        char *span = os_reserve(bytes, SUPERSLAB_BYTES);
        struct slab *table = span == NULL ? NULL : os_map(slabs * sizeof *table, 1);
        uint64_t *bitmap = table == NULL ? NULL : os_map(slabs * BITMAP_WORDS * sizeof *bitmap, 1);
        if (bitmap != NULL) {
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
    }
    return false;
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

/* The next slab of the superslab that serves the class; maps a new one when that is used up. */
static struct slab *next_slab(unsigned class)
{
    struct superslab *superslab = empties_superslab(class);
    if (superslab->next == superslab->end) {
        size_t offset = classifier_place(class);
        if (offset == SIZE_MAX || !os_commit((char *)hs_span + offset, SUPERSLAB_BYTES))
            return NULL;
        classifier_placed(class);
        *superslab = (struct superslab){ offset, offset + SUPERSLAB_BYTES };
        hs_count.superslabs++;
    }
    struct slab *slab = hs_slabs + (superslab->next >> SLAB_SHIFT);
    superslab->next += SLAB_BYTES;
    slab->older = newest;
    newest = slab;
    hs_count.slabs++;
    return slab;
}

static struct slab *acquire(struct heap *heap, unsigned class)
{
    remote_lock_pool();
    struct slab **pool = empties_pool(class);
    struct slab *slab = *pool;
    if (slab != NULL) {
        *pool = slab->next;
        release_reused(slab);
    } else {
        slab = next_slab(class);
    }
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
    errno = taken == 0 ? ENOMEM : saved;
    return taken;
}

void hs_give(struct heap *heap, unsigned class, void *block)
{
    struct slab *slab = slab_of(block);
    struct class_slabs *slabs = &remote_store(heap)->of[class];
    bool was_available = slab_available(slab);
    uint32_t index = block_index(slab, block);
    uint64_t bit = UINT64_C(1) << (index % 64);
    check(slab->class == class, "a block is freed into its own class");
    check((marks_of(slab)[index / 64] & bit) == 0, "a given block was out");
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

void hs_give_all(struct heap *heap, unsigned class, void *const *blocks, uint32_t count)
{
    remote_lock_store();
    for (uint32_t index = 0; index < count; index++)
        hs_give(heap, class, blocks[index]);
    remote_unlock_store();
}

static void check_marks(const struct slab *slab)
{
    uint32_t set = 0;
    for (uint32_t word = 0; word < BITMAP_WORDS; word++)
        set += (uint32_t)__builtin_popcountll(marks_of(slab)[word]);
    check_slab(slab);
    check(set == slab->freed, "freed == marks in the bitmap");
}

void hs_store_check(void)
{
    for (const struct slab *slab = newest; slab != NULL; slab = slab->older)
        check_marks(slab);
}

bool hs_store_reset(void)
{
    newest = NULL;
    size_t slabs = hs_span_bytes / SLAB_BYTES;
    os_unmap((void *)hs_span, hs_span_bytes);
    os_unmap(hs_slabs, slabs * sizeof *hs_slabs);
    os_unmap(marks, slabs * BITMAP_WORDS * sizeof *marks);
    return hs_store_init(os_address_space() / 4);
}
