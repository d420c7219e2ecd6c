/* The levels of a front below level 0: array stacks, rings and lists. Blocks go down where a level is full, up on a miss.
 *
 * The front's record counts the blocks of all of them. Where the only one is a list, that record has its blocks too; else each
 * level has a record of its own, in the slots before its first. Where that is so of no front, hs_class has all numbers, else
 * the table of levels. Level 1 lies below level 0, level 2 below that. */
#pragma once

#include "3_records/heap.h"
#include "4_blocks/links.h"

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
 * freed blocks: then those came to `taken` instead, or none for want of memory. */
uint32_t below_carve(struct heap *heap, unsigned class, void **blocks, uint32_t *taken);
void *below_pop(struct heap *heap, unsigned class, unsigned depth);
void below_push(struct heap *heap, unsigned class, unsigned depth, void *block);
