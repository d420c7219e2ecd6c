/* Hardening "basic": what the emitted free asks of the stack to which its block goes. */
#pragma once

void hs_freed_last(const void *block) __attribute__((noreturn, cold));

/* `top`: the slot above the block that was freed last; NULL lies below the oldest, and where no stack is open. */
static inline void hs_look_at_last(void *const *top, const void *block)
{
    if (top[-1] == block)
        hs_freed_last(block);
}
