/* The calling thread's stack by unwind information (.eh_frame), without malloc: of a library and of the recorder. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* A call that has not returned yet. The word below `top` holds the return address, where that was read from the stack. */
struct frame {
    uintptr_t place;      /* the return address; of code that a signal interrupted, the next instruction */
    const uintptr_t *top; /* the stack pointer after the return */
    bool is_interrupted;
};

/* Calls `visit` with each frame, that of the walk's caller first, until it returns false or the stack ends. */
void hs_walk_stack(bool (*visit)(void *to, const struct frame *frame), void *to);
