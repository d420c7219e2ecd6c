/* A miss drains what came for its class. */
#pragma once

bool remote_drain_class(struct heap *heap, unsigned class); /* as much as it needs */
void remote_before_take(struct heap *heap, unsigned class); /* for a refill, when nothing came for the class: others' */

/* A miss of the class: true if blocks came. */
static inline bool remote_comes(struct heap *heap, unsigned class)
{
    return remote_drain_class(heap, class);
}

/* A drain that no miss asks for. */
static inline void remote_drain_due(struct heap *heap)
{
    remote_before_take(heap, CLASS_COUNT);
}
