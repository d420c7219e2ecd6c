/* Blocks of a class out of its slabs: those that came back first, then fresh ones, for who has the store's lock. */
#pragma once

#include "1_base/bound.h"
#include "2_system/populate/populate.h"
#include "4_blocks/freed_blocks/freed_blocks.h"
#include "4_blocks/slab_numbers.h"
#include "5_slab_policies/choice/choice.h"
#include "5_slab_policies/remote/remote.h"
#include "6_slabs/slabs.h"

#include <string.h>

/* Both take up to `want` blocks to the places before `end`, the first to the last place, and return their number. */
static uint32_t take_freed(struct slab *slab, unsigned class, void **end, uint32_t want)
{
    uint32_t ready = freed_ready(slab);
    uint32_t taken = want < ready ? want : ready;
    freed_take(slab, class, end, taken);
    slab->freed -= taken;
    word_add(&slab->out, taken);
    return taken;
}

/* Blocks never handed out before, in ascending order: only touched pages cost memory. */
static uint32_t carve(struct slab *slab, unsigned class, void **end, uint32_t want)
{
    const size_t stride = slab_stride(slab, class);
    uint32_t left = slab_blocks(slab, class) - slab->carved;
    uint32_t taken = want < left ? want : left;
    char *block = slab_start(slab) + hs_class[class].first + slab->carved * stride;
    ROUNDS(carved);
    for (uint32_t index = 0; index < taken; index++, block += stride) {
        BOUND(carved, MOST_REFILL);
        *--end = block;
    }
    slab->carved += taken;
    word_add(&slab->out, taken);
    return taken;
}

/* The first `bytes` of a slab are in use. */
GATE static void commit_up_to(struct slab *slab, unsigned class, size_t bytes)
{
    size_t step = populate_step(class, slab_stride(slab, class));
    bytes = (bytes + step - 1) & -step;
    if (bytes > SLAB_BYTES)
        bytes = SLAB_BYTES;
    populate_carved(slab_start(slab) + slab->committed, bytes - slab->committed, step);
    count_committed((int64_t)(bytes - slab->committed));
    word_set(&slab->committed, (uint32_t)bytes);
}

static void commit_carved(struct slab *slab, unsigned class)
{
    size_t bytes = hs_class[class].first + slab->carved * (size_t)slab_stride(slab, class);
    if (bytes > slab->committed)
        commit_up_to(slab, class, bytes);
}

/* Takes to the places before `end`, the first block to the last place. Returns their number. */
static uint32_t take_before(struct heap *heap, unsigned class, void **end, uint32_t want)
{
    struct class_slabs *slabs = remote_slabs(heap, class);
    struct class_count *count = &heap->count[class];
    uint32_t taken = 0;
    ROUNDS(slabs_visited);
    while (taken < want) {
        BOUND(slabs_visited, MOST_REFILL);
        struct slab *slab = choice_gives(slabs);
        if (slab == NULL) {
            slab = slabs_acquire(heap, class);
            if (slab == NULL)
                break;
            choice_attach(slabs, slab);
        }
        uint32_t reused = take_freed(slab, class, end - taken, want - taken);
        taken += reused;
        count_own(&count->reuse, reused);
        uint32_t carved = carve(slab, class, end - taken, want - taken);
        taken += carved;
        count_own(&count->carve, carved);
        commit_carved(slab, class);
        hs_check_slab(slab);
        if (!slab_available(slab, class))
            choice_remove(slabs, slab);
    }
    return taken;
}

/* The last place has the first block, as a stack holds them. Returns their number. Under the store's lock; no refill. */
static uint32_t take(struct heap *heap, unsigned class, void **blocks, uint32_t want)
{
    uint32_t taken = take_before(heap, class, blocks + want, want);
    if (taken < want) /* there is no slab any more */
        memmove(blocks, blocks + want - taken, taken * sizeof *blocks);
    return taken;
}
