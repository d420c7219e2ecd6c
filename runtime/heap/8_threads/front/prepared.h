/* Prepared: arrays of blocks between pages that no access may touch, popped and pushed without a test. */
#pragma once

#include "1_base/arch/arch.h"
#include "8_threads/front/stack.h"

void front_heap_made(struct heap *heap);

/* The newest block. The instruction that faults if there is none, or no heap: nothing has changed before it. */
static inline void *hs_guarded_newest(void **top)
{
    return arch_load_below(top);
}

/* The block to the slot at top. The instruction that faults if there is no slot; the handler finds the block in the register. */
static inline void hs_guarded_push(void **top, void *block)
{
    arch_store_at(top, block);
}
