/* Opening "later": a heap that has grown takes back the blocks of stacks that its thread has not used. */
#include "8_threads/opening/later.h"

void opening_look(struct heap *heap)
{
    for (unsigned class = 0; class < CLASS_COUNT; class++) {
        if (hs_opens_after[class] == 0)
            continue;
        void **top = hs_stack_top(heap, class), **slots = stack_slots_at(heap, class, top);
        if (top < slots)
            continue;
        struct opened *opened = &heap->rooms.opened[class];
        uint32_t held = (uint32_t)(top - slots);
        if (held > 0 && held == opened->held) {
            count_own(&heap->count[class].flushed, held);
            hs_drain_front(heap, class);
            held = 0;
        }
        opened->held = held;
    }
}
