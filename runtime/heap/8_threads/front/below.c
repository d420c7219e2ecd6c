/* The levels of a front below level 0: how blocks go down, come up, and leave for the store. */
#include "8_threads/front/below.h"

#include "5_slab_policies/remote/remote.h"
#include "6_slabs/store.h"
#include "6_slabs/stretch.h"
#include "8_threads/large.h"

#include <string.h>

static unsigned levels_below(unsigned class)
{
    return LEVELS_TABLE ? hs_below[class].levels : 1;
}

/* The number of levels that take freed blocks. */
static unsigned levels_taking(unsigned class)
{
    return levels_below(class) - below_bumps(class);
}

static uint32_t level_kind(unsigned class, unsigned depth)
{
    return LEVELS_TABLE ? hs_below[class].level[depth - 1].kind : LEVEL_LIST;
}

static uint32_t level_capacity(unsigned class, unsigned depth)
{
    return LEVELS_TABLE ? hs_below[class].level[depth - 1].capacity : hs_class[class].list_capacity;
}

static uint32_t level_out(unsigned class, unsigned depth)
{
    return LEVELS_TABLE ? hs_below[class].level[depth - 1].out : hs_class[class].flush;
}

static bool level_is_apart(unsigned class, unsigned depth)
{
    return LEVELS_TABLE && hs_below[class].level[depth - 1].slot != 0;
}

static void **level_slots(struct heap *heap, unsigned class, unsigned depth)
{
    return heap->slot + hs_below[class].level[depth - 1].slot;
}

static struct level_record *level_record(struct heap *heap, unsigned class, unsigned depth)
{
    return (struct level_record *)(void *)level_slots(heap, class, depth) - 1;
}

static uint32_t level_held(struct heap *heap, unsigned class, unsigned depth)
{
    return level_is_apart(class, depth) ? level_record(heap, class, depth)->held : heap->front[class].listed;
}

static struct block **level_list(struct heap *heap, unsigned class, unsigned depth)
{
    return level_is_apart(class, depth) ? &level_record(heap, class, depth)->list : &heap->front[class].list;
}

/* `blocks` blocks have left a level, or come to it. */
static void level_lose(struct heap *heap, unsigned class, unsigned depth, uint32_t blocks)
{
    if (level_is_apart(class, depth))
        level_record(heap, class, depth)->held -= blocks;
    word_subtract(&heap->front[class].listed, blocks);
}

static void level_gain(struct heap *heap, unsigned class, unsigned depth, uint32_t blocks)
{
    if (level_is_apart(class, depth))
        level_record(heap, class, depth)->held += blocks;
    word_add(&heap->front[class].listed, blocks);
}

/* The next block that comes up. */
void *below_pop(struct heap *heap, unsigned class, unsigned depth)
{
    level_lose(heap, class, depth, 1);
    if (level_kind(class, depth) == LEVEL_LIST) {
        struct block **list = level_list(heap, class, depth), *first = *list;
        *list = link_take(first);
        return first;
    }
    if (LEVELS_BUMP && level_kind(class, depth) == LEVEL_BUMP)
        return hs_bumped(&level_record(heap, class, depth)->list, hs_class[class].stride);
    void **slot = level_slots(heap, class, depth);
    if (level_kind(class, depth) == LEVEL_STACK)
        return slot[level_held(heap, class, depth)];
    struct level_record *record = level_record(heap, class, depth);
    void *oldest = slot[record->head];
    record->head = (record->head + 1) & (level_capacity(class, depth) - 1);
    return oldest;
}

/* The newest. */
void below_push(struct heap *heap, unsigned class, unsigned depth, void *block)
{
    if (level_kind(class, depth) == LEVEL_LIST) {
        struct block **list = level_list(heap, class, depth), *first = block;
        link_set(first, *list);
        *list = first;
    } else {
        uint32_t place = level_held(heap, class, depth);
        if (level_kind(class, depth) == LEVEL_RING)
            place = (level_record(heap, class, depth)->head + place) & (level_capacity(class, depth) - 1);
        level_slots(heap, class, depth)[place] = block;
    }
    level_gain(heap, class, depth, 1);
}

/* Blocks come up in the order in which they are given; the level is empty. */
static void fill_from(struct heap *heap, unsigned class, unsigned depth, unsigned from, uint32_t blocks)
{
    if (level_kind(class, depth) == LEVEL_LIST) {
        struct block **list = level_list(heap, class, depth), *last = below_pop(heap, class, from);
        *list = last;
        for (uint32_t more = blocks - 1; more > 0; more--) {
            struct block *next = below_pop(heap, class, from);
            link_set(last, next);
            last = next;
        }
        link_set(last, NULL);
    } else {
        void **slot = level_slots(heap, class, depth);
        const bool ring = level_kind(class, depth) == LEVEL_RING;
        for (uint32_t place = 0; place < blocks; place++)
            slot[ring ? place : blocks - 1 - place] = below_pop(heap, class, from);
        level_record(heap, class, depth)->head = 0;
    }
    level_gain(heap, class, depth, blocks);
}

/* A level hands some of its blocks up, as far as level 1, which is empty: the blocks of that. */
static uint32_t hand_up(struct heap *heap, unsigned class, unsigned depth)
{
    for (; depth > 1; depth--) {
        uint32_t held = level_held(heap, class, depth), up = hs_below[class].level[depth - 1].up;
        fill_from(heap, class, depth - 1, depth, up < held ? up : held);
    }
    return level_held(heap, class, 1);
}

uint32_t below_supply(struct heap *heap, unsigned class)
{
    unsigned depth = 1;
    while (depth < levels_below(class) && level_held(heap, class, depth) == 0)
        depth++;
    if (level_held(heap, class, depth) == 0)
        return 0;
    count_own(&heap->count[class].hit1, 1);
    if (depth == 2)
        count_shared(&hs_count.hit2, 1);
    if (depth == 3)
        count_shared(&hs_count.hit3, 1);
    return hand_up(heap, class, depth);
}

uint32_t below_carve(struct heap *heap, unsigned class, void **blocks, uint32_t *taken)
{
    const unsigned last = levels_below(class);
    struct stretch stretch;
    *taken = hs_carve(heap, class, blocks, hs_class[class].refill, level_capacity(class, last), &stretch);
    if (stretch.blocks == 0)
        return 0;
    level_record(heap, class, last)->list = stretch.first;
    level_gain(heap, class, last, stretch.blocks);
    return hand_up(heap, class, last);
}

/* The place of the block that leaves next to make room, where `gone` have left before it and have not been closed up. */
static void *level_leaving(struct heap *heap, unsigned class, unsigned depth, uint32_t gone)
{
    if (level_kind(class, depth) == LEVEL_STACK)
        return level_slots(heap, class, depth)[gone];
    return below_pop(heap, class, depth);
}

static void level_close_up(struct heap *heap, unsigned class, unsigned depth, uint32_t gone)
{
    if (level_kind(class, depth) != LEVEL_STACK || gone == 0)
        return;
    void **slot = level_slots(heap, class, depth);
    level_lose(heap, class, depth, gone);
    memmove(slot, slot + gone, level_held(heap, class, depth) * sizeof *slot);
}

static void level_give(struct heap *heap, unsigned class, unsigned depth, uint32_t blocks)
{
    unsigned held = remote_give_begin(class);
    for (uint32_t gone = 0; gone < blocks; gone++)
        hs_give(heap, class, level_leaving(heap, class, depth, gone), &held);
    remote_give_end(held);
    level_close_up(heap, class, depth, blocks);
}

static uint32_t level_leaves(struct heap *heap, unsigned class, unsigned depth)
{
    uint32_t held = level_held(heap, class, depth), out = level_out(class, depth);
    return out < held ? out : held;
}

bool below_make_room(struct heap *heap, unsigned class, uint32_t more)
{
    unsigned depth = 1, last = levels_taking(class);
    while (depth <= last && level_held(heap, class, depth) + more > level_capacity(class, depth)) {
        more = level_leaves(heap, class, depth);
        depth++;
    }
    const bool flushes = depth > last;
    if (flushes) {
        depth = last;
        count_own(&heap->count[class].flush, 1);
        count_own(&heap->count[class].flushed, more);
        if (last > 0) /* else they leave level 0 */
            level_give(heap, class, last, more);
    }
    while (depth > 1) {
        depth--;
        uint32_t leaving = level_leaves(heap, class, depth);
        count_own(&heap->count[class].spill, 1);
        for (uint32_t gone = 0; gone < leaving; gone++)
            below_push(heap, class, depth + 1, level_leaving(heap, class, depth, gone));
        level_close_up(heap, class, depth, leaving);
    }
    return flushes;
}

void below_drain(struct heap *heap, unsigned class)
{
    for (unsigned depth = 1; depth <= levels_below(class); depth++)
        if (level_held(heap, class, depth) > 0)
            level_give(heap, class, depth, level_held(heap, class, depth));
}

void *below_fill(struct heap *heap, unsigned class)
{
    const bool listed = level_kind(class, 1) == LEVEL_LIST;
    /* A list leaves its slots to the refill. */
    void **taken = level_is_apart(class, 1) ? level_slots(heap, class, 1) : heap->slot + hs_class[class].slot;
    uint32_t blocks;
    if (!below_bumps(class))
        blocks = hs_take(heap, class, taken, hs_class[class].refill);
    else if (below_carve(heap, class, taken, &blocks) > 0)
        return below_pop(heap, class, 1);
    if (blocks == 0)
        return hs_alloc_run_for(class);
    if (listed) {
        for (uint32_t index = 0; index + 1 < blocks; index++)
            below_push(heap, class, 1, taken[index]);
        return taken[blocks - 1];
    }
    struct level_record *record = level_record(heap, class, 1);
    void *first = taken[blocks - 1];
    if (level_kind(class, 1) == LEVEL_RING) {
        hs_reverse(taken, blocks - 1);
        record->head = 0;
    }
    level_gain(heap, class, 1, blocks - 1);
    return first;
}
