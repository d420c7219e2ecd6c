/* Prewarm "resident_slabs": all pages that a new heap's thread will need are there before its first request goes on. */
#include "8_threads/prewarm/resident_slabs.h"

#include "4_blocks/classifier/classifier.h"
#include "2_system/os.h"
#include "5_slab_policies/ownership/ownership.h"
#include "5_slab_policies/pool/pool.h"
#include "6_slabs/slabs.h"

#include <errno.h>
#include <sys/mman.h>

/* Whole pages become resident, in use or not, and are locked in memory if the system grants that. */
static void make_resident(void *start, size_t bytes, bool locked)
{
    int saved = errno;
    if (!locked || mlock(start, bytes) != 0) /* it makes them resident, unless RLIMIT_MEMLOCK forbids it */
        os_populate(start, bytes);
    errno = saved;
}

/* The superslab's slabs go to the heap's pool, from where the first comes out first. */
static void pool_whole(struct heap *heap, size_t first, size_t end)
{
    for (size_t number = end; number-- > first;) {
        struct slab *slab = slab_record(number);
        classifier_set(slab, 0);
        slab->pooled = true;
        if (!slab->huge) /* else the superslab was committed whole when it was mapped */
            count_committed(SLAB_BYTES);
        word_set(&slab->committed, SLAB_BYTES);
        pool_push(heap, slab);
    }
}

/* A superslab more for the heap's pool; false without memory. */
static bool prepare_superslab(struct heap *heap)
{
    struct superslab *superslab = &vacancy_of(heap, 0)->superslab;
    pool_enter();
    pool_enter_map();
    count_locks(LOCKS_PREWARM);
    bool is_mapped = slabs_map(heap, 0, superslab);
    if (is_mapped) {
        size_t first = superslab_next(superslab), end = superslab->end;
        while (superslab_claim(superslab, &hs_last_slab) != NULL)
            continue;
        make_resident((char *)hs_span + first, end - first, PREWARM_LOCKS);
        pool_whole(heap, first >> SLAB_SHIFT, end >> SLAB_SHIFT);
    }
    pool_leave_map();
    pool_leave();
    return is_mapped;
}

void prewarm_heap_started(struct heap *heap)
{
    make_resident(heap, sizeof *heap + SLOT_COUNT * sizeof heap->slot[0], PREWARM_LOCKS);
    for (uint32_t made = 0; made < PREWARM_SUPERSLABS && prepare_superslab(heap); made++)
        continue;
}
