/* A stack keeps blocks from its first miss or free on, as many as fit. */
#pragma once

#include "3_records/heap.h"

static inline bool opening_gives_back(struct heap *heap, unsigned class)
{
    (void)heap, (void)class;
    return false;
}

static inline bool opening_gathers(struct heap *heap, unsigned class)
{
    (void)heap, (void)class;
    return false;
}

static inline bool opening_stays_closed(struct heap *heap, unsigned class)
{
    (void)heap, (void)class;
    return false;
}

static inline void opening_missed(struct heap *heap)
{
    (void)heap;
}

static inline uint32_t opening_wants(struct heap *heap, unsigned class, uint32_t refill)
{
    (void)heap, (void)class;
    return refill;
}
