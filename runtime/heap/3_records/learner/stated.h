/* The capacity of a front: as the design states it. */
#pragma once

/* The most blocks that level 0 of a class holds in this heap. */
static inline uint32_t hs_capacity(struct heap *heap, unsigned class)
{
    (void)heap;
    return hs_class[class].capacity;
}
