/* A thread without a heap frees a block. */
#include "8_threads/thread.h"

#include "1_base/bound.h"
#include "6_slabs/store.h"

void (*hs_slow_listener)(void);

GATE void hs_free_without_heap(unsigned class, void *block)
{
    if (hs_heap_start() != &hs_no_heap) {
        hs_free_small(block);
        return;
    }
    count_shared(&hs_no_heap.count[class].direct, 1);
    hs_give_all(&hs_no_heap, class, &block, 1);
}
