/* The store: blocks of a class out of its slabs and back (docs/machine.md, 'the store'). */
#include "6_slabs/store.h"

#include "1_base/bound.h"
#include "5_slab_policies/choice/choice.h"
#include "4_blocks/classifier/classifier.h"
#include "4_blocks/freed_blocks/freed_blocks.h"
#include "4_blocks/hardening/hardening.h"
#include "5_slab_policies/remote/remote.h"
#include "5_slab_policies/shards/shards.h"
#include "4_blocks/slab_numbers.h"
#include "6_slabs/slabs.h"
#include "moments.h"
#include "6_slabs/take.h"

#include <errno.h>
#include <string.h>

uint32_t hs_take(struct heap *heap, unsigned class, void **blocks, uint32_t want)
{
    if (on_take_wanted(heap, class, blocks))
        return 1;
    int saved = errno;
    on_take_begins(heap);
    remote_lock_store(heap, class);
    const uint32_t locks = locks_uncounted();
    set_stage(STAGE_OWN);
    remote_before_take(heap, class);
    uint32_t taken = take(heap, class, blocks, want);
    count_locks_of(LOCKS_TAKE + stage_now(), locks);
    remote_unlock_store(heap, class);
    classifier_mark(blocks, taken, class);
    count_own(&heap->count[class].refill, 1);
    count_own(&heap->count[class].refilled, taken);
    errno = saved;
    return taken;
}

/* Blocks of one slab come back: the first of `blocks` and those next to it. Returns their number. */
static uint32_t give_to_slab(struct heap *heap, unsigned class, void *const *blocks, uint32_t count, unsigned *held)
{
    struct slab *slab = slab_record(((uintptr_t)blocks[0] - hs_span) >> SLAB_SHIFT);
    struct class_slabs *slabs = remote_give_to(heap, slab, class, held);
    check(slab->class == class, "a block is freed into its own class");
    if (CHECK_GIVEN && HAS_HEADERS && slab->class != class)
        hs_misuse("written to before its start", blocks[0]);
    const uint32_t given = freed_give(slab, freed_place(slab, class), blocks, count);
    if (CHECK_GIVEN && slab->out < given) /* where no mark told */
        hs_misuse("double free", blocks[0]);
    ROUNDS(unmarked);
    for (uint32_t index = 0; ZERO_FREED && index < given; index++) {
        BOUND(unmarked, MOST_GIVEN);
        classifier_unmark(blocks[index]);
    }
    bool was_available = slab_available(slab, class);
    slab->freed += given;
    word_subtract(&slab->out, given);
    hs_check_slab(slab);
    const bool available = FREED_SERVE || was_available;
    if (available && !was_available)
        choice_add(slabs, slab);
    if (slab->out == 0 && (!available || choice_lets_go(slabs, slab))) {
        if (available)
            choice_remove(slabs, slab);
        slabs_retire(heap, slab);
    }
    return given;
}

void hs_give(struct heap *heap, unsigned class, void *block, unsigned *held)
{
    give_to_slab(heap, class, &block, 1, held);
}

void hs_give_batch(struct heap *heap, unsigned class, void *const *blocks, uint32_t count, unsigned *held)
{
    ROUNDS(slabs_given);
    for (uint32_t given = 0; given < count;) {
        BOUND(slabs_given, MOST_GIVEN);
        given += give_to_slab(heap, class, blocks + given, count - given, held);
    }
}

void hs_give_all(struct heap *heap, unsigned class, void *const *blocks, uint32_t count)
{
    unsigned held = remote_give_begin(class);
    hs_give_batch(heap, class, blocks, count, &held);
    remote_give_end(held);
}
