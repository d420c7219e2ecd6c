/* Sums over all heaps, without a lock. */
#include "9_api/tally.h"

#include "3_records/heap.h"
#include "3_records/span.h"
#include "7_large/run_cache/run_cache.h"

#include <string.h>

/* By the slab table, which can be read whatever became of the block. */
static size_t in_quarantine(const struct quarantine *quarantine, unsigned class)
{
    size_t blocks = 0;
    uint32_t held = word_look(&quarantine->held), oldest = word_look(&quarantine->oldest);
    for (uint32_t index = 0; index < held; index++) {
        const void *block = __atomic_load_n(&quarantine->block[(oldest + index) % QUARANTINE_SLOTS], __ATOMIC_RELAXED);
        blocks += in_slab_span(block) && __atomic_load_n(&slab_of(block)->class, __ATOMIC_RELAXED) == class;
    }
    return blocks;
}

struct tally tally_class(unsigned class)
{
    struct tally tally = { 0 };
    for (struct heap *heap = &hs_no_heap; heap != NULL; heap = hs_heap_after(heap)) {
        const struct class_count *count = &heap->count[class];
        tally.parked += (int64_t)(tally_look(&count->remote) - tally_look(&count->drained));
        tally.parked += (int64_t)(tally_look(&count->transfer_in) - tally_look(&count->transfer_out));
        tally.parked -= (int64_t)tally_look(&count->transfer_back);
        tally.emptied += (int64_t)(tally_look(&count->retire) - tally_look(&count->acquire));
        if (heap == &hs_no_heap)
            continue;
        tally.fronts += hs_held(heap, class) + hs_listed(heap, class);
        tally.parked += (int64_t)in_quarantine(&heap->quarantine, class);
    }
    tally.parked += tally.fronts;
    return tally;
}

uint64_t heap_counter(size_t index)
{
    const uint64_t *counter = (const uint64_t *)&hs_count + index;
    uint64_t count = tally_look(counter);
    for (struct heap *heap = &hs_no_heap; counter == &hs_count.run_hit && heap != NULL; heap = hs_heap_after(heap))
        count += run_cache_hits(heap);
    return count;
}

void class_counters(unsigned class, uint64_t sum[CLASS_COUNTERS])
{
    memset(sum, 0, CLASS_COUNTERS * sizeof *sum);
    for (struct heap *heap = &hs_no_heap; heap != NULL; heap = hs_heap_after(heap)) {
        const uint64_t *counts = (const uint64_t *)&heap->count[class];
        for (size_t index = 0; index < CLASS_COUNTERS; index++)
            sum[index] += tally_look(&counts[index]);
    }
}
