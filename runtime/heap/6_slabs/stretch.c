/* Fresh blocks of one slab, one behind the other. */
#include "6_slabs/stretch.h"

#include "4_blocks/classifier/classifier.h"
#include "5_slab_policies/choice/choice.h"
#include "6_slabs/take.h"
#include "moments.h"

#include <errno.h>

/* The first of the fresh blocks leave the slab. */
static void take_stretch(struct heap *heap, struct class_slabs *slabs, struct slab *slab, unsigned class, uint32_t most, struct stretch *stretch)
{
    const size_t stride = slab_stride(slab, class);
    const uint32_t left = slab_blocks(slab, class) - slab->carved;
    stretch->first = (struct block *)(void *)(slab_start(slab) + hs_class[class].first + slab->carved * stride);
    stretch->blocks = most < left ? most : left;
    slab->carved += stretch->blocks;
    word_add(&slab->out, stretch->blocks);
    count_own(&heap->count[class].carve, stretch->blocks);
    commit_carved(slab, class);
    hs_check_slab(slab);
    if (!slab_available(slab, class))
        choice_remove(slabs, slab);
}

/* Under the store's lock. */
static uint32_t take_or_carve(struct heap *heap, unsigned class, void **blocks, uint32_t want, uint32_t most, struct stretch *stretch)
{
    struct class_slabs *slabs = remote_slabs(heap, class);
    struct slab *slab = choice_gives(slabs);
    if (slab == NULL) {
        slab = slabs_acquire(heap, class);
        if (slab == NULL)
            return 0;
        choice_attach(slabs, slab);
    }
    if (freed_ready(slab) > 0)
        return take(heap, class, blocks, want);
    take_stretch(heap, slabs, slab, class, most, stretch);
    return 0;
}

uint32_t hs_carve(struct heap *heap, unsigned class, void **blocks, uint32_t want, uint32_t most, struct stretch *stretch)
{
    stretch->blocks = 0;
    if (on_take_wanted(heap, class, blocks))
        return 1;
    int saved = errno;
    on_take_begins(heap);
    remote_lock_store(heap, class);
    const uint32_t locks = locks_uncounted();
    set_stage(STAGE_OWN);
    remote_before_take(heap, class);
    uint32_t taken = take_or_carve(heap, class, blocks, want, most, stretch);
    count_locks_of(LOCKS_TAKE + stage_now(), locks);
    remote_unlock_store(heap, class);
    classifier_mark(blocks, taken, class);
    struct block *next = stretch->first;
    ROUNDS(stretch_marked);
    for (uint32_t fresh = 0; fresh < stretch->blocks; fresh++) {
        BOUND(stretch_marked, MOST_REFILL);
        void *block = hs_bumped(&next, hs_class[class].stride);
        classifier_mark(&block, 1, class);
    }
    count_own(&heap->count[class].refill, 1);
    count_own(&heap->count[class].refilled, taken + stretch->blocks);
    errno = saved;
    return taken;
}
