/* Learner: misses and flushes of the fronts whose capacity can change, where the design has one. Of the heap's own thread. */
#pragma once

#include "3_records/heap.h"

#ifdef LEARN_WINDOW
void learner_missed(struct heap *heap, unsigned class);  /* a refill has filled the front, or a larger class lent a block */
void learner_flushed(struct heap *heap, unsigned class); /* the freed block is in the front */
#else
static inline void learner_missed(struct heap *heap, unsigned class)
{
    (void)heap, (void)class;
}

static inline void learner_flushed(struct heap *heap, unsigned class)
{
    (void)heap, (void)class;
}
#endif
