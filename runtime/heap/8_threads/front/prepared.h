/* Prepared: arrays of blocks between pages that no access may touch, popped and pushed without a test. */
#pragma once

#include "8_threads/front/stack.h"

void front_heap_made(struct heap *heap);

/* The newest block. The instruction that faults if there is none, or no heap: nothing has changed before it. */
static inline void *hs_guarded_newest(void **top)
{
    void *block = NULL;
    __asm__("movq -8(%1), %0" : "=a"(block) : "r"(top) : "memory");
    return block;
}

/* The block to the slot at top. The instruction that faults if there is no slot; the handler finds the block in the register. */
static inline void hs_guarded_push(void **top, void *block)
{
    __asm__("movq %1, (%0)" : : "r"(top), "D"(block) : "memory");
}
