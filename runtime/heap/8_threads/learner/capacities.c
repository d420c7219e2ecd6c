/* Learner "capacities": after LEARN_WINDOW misses and flushes a heap decides for each of its fronts that learn. */
#include "8_threads/learner/capacities.h"

extern const uint32_t hs_learn_least[CLASS_COUNT];
extern const uint32_t hs_learn_most[CLASS_COUNT];
extern const uint32_t hs_learn_step[CLASS_COUNT];

static void let_grow(struct heap *heap, unsigned class)
{
    uint32_t now = heap->front[class].capacity, room = hs_learn_most[class] - now;
    if (room == 0)
        return;
    hs_resize[class](heap, class, now + (room < hs_learn_step[class] ? room : hs_learn_step[class]));
    count_shared(&hs_count.learned_up, 1);
}

static void let_shrink(struct heap *heap, unsigned class)
{
    uint32_t now = heap->front[class].capacity, room = now - hs_learn_least[class];
    if (room == 0)
        return;
    hs_resize[class](heap, class, now - (room < hs_learn_step[class] ? room : hs_learn_step[class]));
    count_shared(&hs_count.learned_down, 1);
}

static void decide(struct heap *heap)
{
    for (unsigned class = 0; class < CLASS_COUNT; class++) {
        if (hs_resize[class] == NULL)
            continue;
        struct learned *learned = &heap->rooms.learned[class];
        if (learned->misses >= LEARN_OFTEN && learned->flushes >= LEARN_OFTEN)
            let_grow(heap, class);
        else if (learned->misses == 0 && learned->flushes == 0)
            let_shrink(heap, class);
        *learned = (struct learned){ 0, 0 };
    }
}

static void happened(struct heap *heap)
{
    if (++heap->rooms.learn_events < LEARN_WINDOW)
        return;
    heap->rooms.learn_events = 0;
    decide(heap);
}

void learner_heap_begins(struct heap *heap)
{
#pragma GCC unroll 1 /* read from the table however many classes there are, as the model says */
    for (unsigned class = 0; class < CLASS_COUNT; class++)
        heap->front[class].capacity = hs_class[class].capacity;
}

void learner_front_missed(struct heap *heap, unsigned class)
{
    if (hs_resize[class] == NULL)
        return;
    heap->rooms.learned[class].misses++;
    happened(heap);
}

void learner_front_flushed(struct heap *heap, unsigned class)
{
    heap->rooms.learned[class].flushes++;
    happened(heap);
}
