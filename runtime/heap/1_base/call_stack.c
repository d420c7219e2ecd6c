/* Call stacks (call_stack.h), by unwind information. */
#include "1_base/call_stack.h"

#include "1_base/unwind.h"

#ifdef HEAPSMITH_ARCHIVE
/* The library's code is in the program's file. */
static bool is_own(uintptr_t place)
{
    return false;
}
#else
extern const char __ehdr_start[] __attribute__((visibility("hidden"))), _end[] __attribute__((visibility("hidden")));

static bool is_own(uintptr_t place)
{
    return place >= (uintptr_t)__ehdr_start && place < (uintptr_t)_end;
}
#endif

struct wanted_calls {
    struct call_stack *stack;
    bool begun; /* what comes before belongs to the signal handler */
};

static bool add_call(void *to, const struct frame *frame)
{
    struct wanted_calls *wanted_calls = to;
    struct call_stack *stack = wanted_calls->stack;
    wanted_calls->begun |= frame->is_interrupted;
    if (!wanted_calls->begun || (stack->depth == 0 && is_own(frame->place)))
        return true;
    stack->frame[stack->depth++] = frame->place + frame->is_interrupted;
    return stack->depth < STACK_FRAMES;
}

static INLINED void walk_calls(struct call_stack *stack, bool begun)
{
    struct wanted_calls wanted_calls = { stack, begun };
    stack->depth = 0;
    hs_walk_stack(add_call, &wanted_calls);
}

APART void hs_call_stack(struct call_stack *stack)
{
    walk_calls(stack, true);
}

APART void hs_interrupted_stack(struct call_stack *stack)
{
    walk_calls(stack, false);
}
