/* The life of heaps: the start of the library, a new heap, what a heap gives up when it is drained. */
#include "8_threads/life.h"

#include "2_system/locks.h"
#include "2_system/os.h"
#include "5_slab_policies/remote/remote.h"
#include "6_slabs/slabs.h"
#include "7_large/run_pages.h"
#include "8_threads/rows.h"
#include "moments.h"

#include SAMPLING_GUARDS

#include <errno.h>

static bool heaps_usable; /* written under the pool lock */
struct heap *hs_newest_heap;
struct heap *hs_abandoned;

void hs_drain_fronts(struct heap *heap)
{
    on_heap_drains(heap);
    remote_drain(heap);
    for (unsigned class = 0; class < CLASS_COUNT; class++)
        hs_drain_front(heap, class);
}

/* Under the pool lock. A start that fails is tried again by the next allocation. */
static void start(void)
{
    on_begin();
    if (!os_arena(slabs_space() + pages_space() + guarded_space()))
        return;
    slabs_init();
    pages_init();
    guarded_init();
    on_start();
    __atomic_store_n(&heaps_usable, true, __ATOMIC_RELEASE);
}

bool hs_started(void)
{
    if (__atomic_load_n(&heaps_usable, __ATOMIC_ACQUIRE))
        return true;
    int saved = errno;
    hs_lock_pool();
    count_locks(LOCKS_OTHER);
    if (!heaps_usable)
        start();
    bool now = heaps_usable;
    hs_unlock_pool();
    errno = saved;
    return now;
}

struct heap *hs_heap_create(void)
{
    struct heap *heap = os_map(sizeof *heap + SLOT_COUNT * sizeof heap->slot[0], 1);
    if (heap == NULL)
        return NULL;
    hs_rows_init(heap);
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
