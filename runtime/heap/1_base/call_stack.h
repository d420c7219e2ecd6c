/* The calling thread's call stack as an array of addresses, without malloc. */
#pragma once

#include "1_base/cold.h"

#include <stddef.h>
#include <stdint.h>

enum { STACK_FRAMES = 32 };

/* Return addresses, the innermost first, without the library's own in front: the call lies before each of them. */
struct call_stack {
    uint64_t depth;
    uintptr_t frame[STACK_FRAMES];
};

COLD void hs_call_stack(struct call_stack *stack);
/* In a signal handler: that of the code which the signal interrupted, where 1 is added to the address of the instruction. */
COLD void hs_interrupted_stack(struct call_stack *stack);
