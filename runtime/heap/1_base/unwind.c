/* The calling thread's stack (unwind.h), by libgcc, which keeps all of its state on the stack. A library has a libgcc of its own:
 * the shared one takes a lock where programs register frames, and its holder may ask for memory. */
#include "1_base/unwind.h"

#include <unwind.h>

struct walk_of_stack {
    bool (*visit)(void *to, const struct frame *frame);
    void *to;
};

/* Libgcc shows each frame with the stack pointer after the return to it. */
static _Unwind_Reason_Code visit_context(struct _Unwind_Context *context, void *of)
{
    const struct walk_of_stack *walk = of;
    int is_interrupted = 0;
    const uintptr_t place = _Unwind_GetIPInfo(context, &is_interrupted);
    const struct frame frame = { place, (const uintptr_t *)_Unwind_GetCFA(context), is_interrupted != 0 };
    return place != 0 && walk->visit(walk->to, &frame) ? _URC_NO_REASON : _URC_END_OF_STACK;
}

void hs_walk_stack(bool (*visit)(void *to, const struct frame *frame), void *to)
{
    struct walk_of_stack walk = { visit, to };
    _Unwind_Backtrace(visit_context, &walk);
}
