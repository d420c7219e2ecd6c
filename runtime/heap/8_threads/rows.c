/* The rows of a new heap: its stacks, which open with their first block, and the class of each request by its bytes. */
#include "8_threads/rows.h"

#include "3_records/segregation/segregation.h"
#include "3_records/span.h"

/* The first class's slots begin at slot + 1, so its stack would look open and have no room. A processor's stacks are filled
 * without a look at whether they are open. */
#ifdef PROCESSOR_BATCH
#define OPEN_AT_ONCE CLASS_COUNT
#else
#define OPEN_AT_ONCE 1
#endif

void hs_rows_init(struct heap *heap)
{
    heap->slot[0] = NULL; /* written, so that no read of it comes first */
    for (unsigned row = 0; row <= CLASS_COUNT; row++)
        heap->top[row] = heap->end[row] = heap->slot + 1;
#ifdef LEARN_WINDOW
#pragma GCC unroll 1 /* read from the table however many classes there are, as the model says */
    for (unsigned class = 0; class < CLASS_COUNT; class++)
        heap->front[class].capacity = hs_class[class].capacity;
#endif
    for (unsigned class = 0; class < OPEN_AT_ONCE; class++)
        if (hs_class[class].stack > 0)
            stack_open(heap, class);
    heap->span = hs_span;
    heap->span_bytes = hs_span_bytes;
    for (size_t bytes = 0; bytes <= DIRECT_LIMIT; bytes++)
        heap->row_of[bytes] = (uint8_t)hs_row_of_size(size_to_class(bytes));
}
