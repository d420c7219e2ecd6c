/* Opening "later": a heap that has grown takes back the blocks of stacks that its thread has not used. */
#include "8_threads/opening/later.h"

void opening_look(struct heap *heap)
{
    for (unsigned class = 0; class < CLASS_COUNT; class++) {
        if (hs_opens_after[class] == 0 || !stack_keeps(heap, class))
            continue;
        struct opened *opened = &heap->rooms.opened[class];
        uint32_t held = stack_held(heap, class);
        if (held > 0 && held == opened->held) {
            count_own(&heap->count[class].flushed, held);
            hs_drain_front(heap, class);
            held = 0;
        }
        opened->held = held;
    }
}
