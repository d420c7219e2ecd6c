/* The rows of a new heap: its stacks, empty, where their blocks lie, and the class of each request looked up by its bytes. */
#include "rows.h"

#include "segregation/segregation.h"
#include "span.h"

void hs_rows_init(struct heap *heap)
{
    heap->top[0] = heap->end[0] = heap->slot + 1; /* above the slot of no class, which stays NULL */
    for (unsigned class = 0; class < CLASS_COUNT; class++) {
        stack_hold(heap, class, 0);
        heap->end[1 + class] = heap->top[1 + class] + hs_class[class].stack;
#ifdef LEARN_WINDOW
        heap->front[class].capacity = hs_class[class].capacity;
#endif
    }
    heap->span = hs_span;
    heap->span_bytes = hs_span_bytes;
    for (size_t bytes = 0; bytes <= DIRECT_LIMIT; bytes++)
        heap->row_of[bytes] = (uint8_t)hs_row_of_size(size_to_class(bytes));
}
