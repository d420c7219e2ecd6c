/* A level 1 that is a linked list, LIFO through the blocks' first words: what several fronts do with it. */
#pragma once

#include "3_records/heap.h"
#include "4_blocks/links.h"
#include "5_slab_policies/remote/remote.h"
#include "6_slabs/store.h"

static inline void *list_pop(struct front *front)
{
    struct block *first = front->list;
    front->list = link_take(first);
    word_subtract(&front->listed, 1);
    return first;
}

static inline void list_push(struct front *front, void *block)
{
    struct block *first = block;
    link_set(first, front->list);
    front->list = first;
    word_add(&front->listed, 1);
}

/* To the store, the newest first. */
static inline void list_give(struct heap *heap, unsigned class, uint32_t blocks)
{
    unsigned held = remote_give_begin(class);
    while (blocks-- > 0)
        hs_give(heap, class, list_pop(&heap->front[class]), &held);
    remote_give_end(held);
}

/* A flush, if there is no room for `more` blocks: was there one? */
static inline bool list_make_room(struct heap *heap, unsigned class, uint32_t more)
{
    const struct class_plan *plan = &hs_class[class];
    struct front *front = &heap->front[class];
    if (front->listed + more <= plan->list_capacity)
        return false;
    uint32_t blocks = plan->flush < front->listed ? plan->flush : front->listed;
    count_own(&heap->count[class].flush, 1);
    count_own(&heap->count[class].flushed, blocks);
    list_give(heap, class, blocks);
    return true;
}

/* How many blocks a promotion moves; it is counted. Not of an empty list. */
static inline uint32_t list_promotes(struct heap *heap, unsigned class)
{
    const struct class_plan *plan = &hs_class[class];
    uint32_t listed = heap->front[class].listed;
    count_own(&heap->count[class].hit1, 1);
    return plan->promote < listed ? plan->promote : listed;
}
