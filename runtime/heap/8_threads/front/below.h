/* The levels of a front below level 0: array stacks, rings and lists. Blocks go down where a level is full, up on a miss.
 *
 * The front's record counts the blocks of all of them. Where the only one is a list, that record has its blocks too; else each
 * level has a record of its own, in the slots before its first. Where that is so of no front, hs_class has all numbers, else
 * the table of levels. Level 1 lies below level 0, level 2 below that. */
#pragma once

#include "3_records/heap.h"
#include "4_blocks/links.h"
#include "5_slab_policies/remote/remote.h"
#include "6_slabs/store.h"

enum { LEVEL_STACK = 1, LEVEL_RING, LEVEL_LIST, LEVEL_BUMP };

struct level_plan {
    uint32_t kind, capacity;
    uint32_t out;  /* blocks that leave to make room */
    uint32_t up;   /* blocks that a promotion hands to the level above */
    uint32_t slot; /* the first; 0: a list in the front's record */
};

struct below {
    struct level_plan level[DEEPEST];
    uint32_t levels;
};
_Static_assert(sizeof(struct below) == BELOW_BYTES, "a line");

extern const struct below hs_below[CLASS_COUNT]; /* read where LEVELS_TABLE is 1 */

/* In the two slots before a level's first. */
struct level_record {
    uint32_t held;
    uint32_t head; /* a ring's oldest */
    struct block *list; /* LIFO; of a bump, the next of its stretch */
};

/* Whether the last level is a bump, which takes no freed block. */
static inline bool below_bumps(unsigned class)
{
    return LEVELS_BUMP && hs_below[class].level[hs_below[class].levels - 1].kind == LEVEL_BUMP;
}

uint32_t below_supply(struct heap *heap, unsigned class); /* blocks of level 1, to which the first level with blocks hands some up */
bool below_make_room(struct heap *heap, unsigned class, uint32_t more); /* in level 1; was there a flush? */
void below_drain(struct heap *heap, unsigned class);
void *below_fill(struct heap *heap, unsigned class); /* the empty level 1, from the store; its first block, or a run */

/* All levels are empty: the bump, which is the last, gets a stretch and hands some of it up. Blocks of level 1; 0: the slab has
 * freed blocks, and so many of these, or none without memory, came to `taken` instead. */
uint32_t below_carve(struct heap *heap, unsigned class, void **blocks, uint32_t *taken);
void *below_pop(struct heap *heap, unsigned class, unsigned depth);
void below_push(struct heap *heap, unsigned class, unsigned depth, void *block);

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
