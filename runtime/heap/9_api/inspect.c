/* What heapsmith's tools ask of a library: counters, addresses, and in the checked build the invariants and a reset. */
#include "9_api/api.h"
#include "1_base/counting/counting.h"
#include "4_blocks/classifier/classifier.h"
#include "4_blocks/hardening/hardening.h"
#include "8_threads/large.h"
#include "5_slab_policies/release/release.h"
#include "5_slab_policies/remote/remote.h"
#include "6_slabs/slabs.h"
#include "7_large/run_cache/run_cache.h"
#include "8_threads/thread.h"
#include "6_slabs/transfer/transfer.h"

#include <string.h>

const char *heapsmith_design(void)
{
    return hs_design;
}

int heapsmith_checked(void)
{
    return HEAPSMITH_CHECKED;
}

size_t heapsmith_counter_count(void)
{
    return HEAP_COUNTERS + CLASS_COUNT * CLASS_COUNTERS;
}

void heapsmith_counters(uint64_t *counters)
{
    memcpy(counters, &hs_count, sizeof hs_count);
    memset(counters + HEAP_COUNTERS, 0, CLASS_COUNT * sizeof(struct class_count));
    for (struct heap *heap = &hs_no_heap; heap != NULL; heap = hs_heap_after(heap)) {
        counters[offsetof(struct heap_count, run_hit) / sizeof *counters] += run_cache_hits(heap);
        const uint64_t *counts = (const uint64_t *)heap->count;
        for (size_t index = 0; index < CLASS_COUNT * CLASS_COUNTERS; index++)
            counters[HEAP_COUNTERS + index] += counts[index];
    }
}

int64_t heapsmith_locate(const void *block)
{
    uintptr_t offset = (uintptr_t)block - hs_span;
    return offset < hs_span_bytes ? (int64_t)offset : hs_large_locate(block);
}

static void check_fronts(struct heap *heap)
{
    for (unsigned class = 0; class < CLASS_COUNT; class++) {
        check(hs_held(heap, class) <= hs_capacity(heap, class), "held <= capacity");
        check(GUARD_SLOTS > 0 || stack_slots(heap, class)[-1] == NULL, "below a stack's oldest block lies NULL");
        if (hs_class[class].stack > 0 && heap->end[1 + class] != heap->slot + 1)
            check(heap->end[1 + class] == stack_slots(heap, class) + stack_room(heap, class, stack_slots(heap, class)), "a stack ends where it is full");
        else
            check(heap->top[1 + class] == heap->slot + 1 && heap->end[1 + class] == heap->slot + 1, "a stack is open, or lies above slot[0] (closed or parked)");
        check(hs_listed(heap, class) <= hs_class[class].list_capacity, "listed <= list_capacity");
    }
}

void heapsmith_check(void)
{
    if (!hs_started())
        return;
    on_inspection();
    slabs_check();
    hs_transfer_check();
    for (struct heap *heap = hs_heap_after(&hs_no_heap); heap != NULL; heap = hs_heap_after(heap))
        check_fronts(heap);
    hs_large_check();
}

void heapsmith_reset(size_t span_bytes)
{
    if (!HEAPSMITH_CHECKED || !hs_started())
        return;
    hs_forget_heaps();
    release_reset();
    remote_reset();
    hs_count = (struct heap_count){ 0 };
    forget_locks();
    memset(hs_no_heap.count, 0, sizeof hs_no_heap.count);
    slabs_reset(span_bytes);
    hs_transfer_reset();
    on_reset();
    hs_large_reset(span_bytes);
}
