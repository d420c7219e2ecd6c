/* The life of heaps: the start of the library, a new heap and its rows, what a heap gives up when it is drained. */
#include "8_threads/life.h"

#include "2_system/locks.h"
#include "2_system/os.h"
#include "3_records/segregation/segregation.h"
#include "3_records/span.h"
#include "5_slab_policies/remote/remote.h"
#include "6_slabs/slabs.h"
#include "7_large/run_pages.h"
#include "moments.h"

#include HEAPS_STACKS

#include <errno.h>

static bool heaps_usable; /* written under the pool lock */
struct heap *hs_newest_heap;
struct heap *hs_abandoned;

void hs_drain_fronts(struct heap *heap)
{
    on_heap_drains(heap);
    remote_drain(heap);
    for (unsigned class = 0; class < CLASS_COUNT; class++)
        if (hs_class[class].drain != NULL)
            hs_class[class].drain(heap, class);
}

/* Under the pool lock. A start that fails is tried again by the next allocation. */
static void start(void)
{
    on_begin();
    if (!os_arena(slabs_space() + pages_space()))
        return;
    slabs_init();
    pages_init();
    on_start();
    __atomic_store_n(&heaps_usable, true, __ATOMIC_RELEASE);
}

bool hs_started(void)
{
    if (__atomic_load_n(&heaps_usable, __ATOMIC_ACQUIRE))
        return true;
    int saved = errno;
    hs_lock_pool();
    if (!heaps_usable)
        start();
    bool now = heaps_usable;
    hs_unlock_pool();
    errno = saved;
    return now;
}

/* Its stacks open with their first block, unless they are open at once; and the class of each request is known by its bytes. */
static void begin_rows(struct heap *heap)
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

struct heap *hs_heap_create(void)
{
    struct heap *heap = os_map(sizeof *heap + SLOT_COUNT * sizeof heap->slot[0], 1);
    if (heap == NULL)
        return NULL;
    begin_rows(heap);
    on_heap_made(heap);
    heap->earlier = hs_newest_heap;
    __atomic_store_n(&hs_newest_heap, heap, __ATOMIC_RELEASE); /* a signal's report may walk the list at any moment */
    count_own(&hs_count.heaps, 1);
    return heap;
}

void hs_forget_heaps(void)
{
    for (struct heap *heap = hs_newest_heap, *earlier; heap != NULL; heap = earlier) {
        earlier = heap->earlier;
        os_unmap(heap, sizeof *heap + SLOT_COUNT * sizeof heap->slot[0]);
    }
    hs_newest_heap = hs_abandoned = NULL;
    on_forget();
}
