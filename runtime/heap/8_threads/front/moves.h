/* What goes between level 0 and level 1, whatever the kind of level 0. */
#pragma once

#include "5_slab_policies/remote/remote.h"
#include "6_slabs/store.h"
#include "8_threads/front/below.h"

/* Level 0 is empty: how many blocks of level 1 come up. 0: there are none; then the store serves, and where a bump lies below
 * it has done so: `taken` blocks lie in the slots. */
static inline uint32_t below_promotes(struct heap *heap, unsigned class, void **slots, uint32_t *taken)
{
    const uint32_t most = hs_class[class].promote;
    uint32_t held = below_supply(heap, class);
    if (held == 0 && below_bumps(class))
        held = below_carve(heap, class, slots, taken);
    return most < held ? most : held;
}

/* Level 0 is full: its blocks that `leaves` names, by their order, go down to level 1, or to the store if only a bump lies below.
 * Was there a flush? */
static inline bool below_spill(struct heap *heap, unsigned class, void *(*leaves)(struct heap *heap, unsigned class, uint32_t place))
{
    const uint32_t blocks = hs_class[class].spill;
    const bool flushed = below_make_room(heap, class, blocks);
    if (below_bumps(class) && hs_below[class].levels == 1) {
        unsigned held = remote_give_begin(class);
        for (uint32_t place = 0; place < blocks; place++)
            hs_give(heap, class, leaves(heap, class, place), &held);
        remote_give_end(held);
        return flushed;
    }
    count_own(&heap->count[class].spill, 1);
    for (uint32_t place = 0; place < blocks; place++)
        below_push(heap, class, 1, leaves(heap, class, place));
    return flushed;
}
