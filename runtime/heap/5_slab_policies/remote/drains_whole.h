/* A drain takes all that came. */
#pragma once

/* A miss of the class: true if blocks came. */
static inline bool remote_comes(struct heap *heap, unsigned class)
{
    (void)class;
    return remote_drain(heap);
}

/* Nothing came for the class: before a refill. */
static inline void remote_before_take(struct heap *heap, unsigned class)
{
    (void)heap;
    (void)class;
}

/* A drain that no miss asks for. */
static inline void remote_drain_due(struct heap *heap)
{
    remote_drain(heap);
}
