/* The rows of a new heap: its stacks, which open with their first block, and the class of each request by its bytes. */
#include "8_threads/rows.h"

#include "3_records/segregation/segregation.h"
#include "3_records/span.h"
#include "moments.h"

#include HEAPS_STACKS

void hs_rows_init(struct heap *heap)
{
    heap->slot[0] = NULL; /* written, so that no read of it comes first */
    for (unsigned row = 0; row <= CLASS_COUNT; row++)
        heap->top[row] = heap->end[row] = heap->slot + 1;
    on_heap_begins(heap);
    for (unsigned class = 0; class < OPEN_AT_ONCE; class++)
        if (hs_class[class].stack > 0)
            stack_open(heap, class);
    heap->span = hs_span;
    heap->span_bytes = hs_span_bytes;
    for (size_t bytes = 0; bytes <= DIRECT_LIMIT; bytes++)
        heap->row_of[bytes] = (uint8_t)hs_row_of_size(size_to_class(bytes));
}
