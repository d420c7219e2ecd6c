/* What heapsmith's tools ask of a library: counters, addresses, and in the checked build the invariants and a reset. */
#include "api.h"
#include "classifier/classifier.h"
#include "empties/empties.h"
#include "hardening/hardening.h"
#include "large.h"
#include "release/release.h"
#include "remote/remote.h"
#include "slabs.h"
#include "stats.h"
#include "thread.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct heap_count hs_count;

const char *const hs_heap_counter[] = {
    "superslabs", "slabs", "releases", "released_bytes", "heaps", "adoptions",
    "run_reuse", "run_grow", "run_extend", "run_free", "run_hit", "run_spill", "huge_map", "huge_unmap", "huge_remap",
    "realloc_in_place", "realloc_moved", "committed", "committed_peak",
};
const char *const hs_class_counter[] = {
    "hit0", "hit1", "refill", "refilled", "push", "spill", "flush", "flushed", "direct",
    "carve", "reuse", "acquire", "retire", "remote", "drained", "transfer_in", "transfer_out", "transfer_back",
};
_Static_assert(sizeof hs_heap_counter / sizeof hs_heap_counter[0] == HEAP_COUNTERS, "a name per counter");
_Static_assert(sizeof hs_class_counter / sizeof hs_class_counter[0] == CLASS_COUNTERS, "a name per counter");

void count_committed(int64_t by)
{
    uint64_t now = __atomic_add_fetch(&hs_count.committed, (uint64_t)by, __ATOMIC_RELAXED);
    uint64_t peak = __atomic_load_n(&hs_count.committed_peak, __ATOMIC_RELAXED);
    while (by > 0 && now > peak &&
           !__atomic_compare_exchange_n(&hs_count.committed_peak, &peak, now, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

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

static void add_heap(struct heap *heap, void *with)
{
    uint64_t *sums = with;
    const uint64_t *counts = (const uint64_t *)heap->count;
    for (size_t index = 0; index < CLASS_COUNT * CLASS_COUNTERS; index++)
        sums[index] += counts[index];
}

void heapsmith_counters(uint64_t *counters)
{
    memcpy(counters, &hs_count, sizeof hs_count);
    memset(counters + HEAP_COUNTERS, 0, CLASS_COUNT * sizeof(struct class_count));
    hs_visit_heaps(add_heap, counters + HEAP_COUNTERS);
}

int64_t heapsmith_locate(const void *block)
{
    uintptr_t offset = (uintptr_t)block - hs_span;
    return offset < hs_span_bytes ? (int64_t)offset : hs_large_locate(block);
}

void hs_broken(const char *equation)
{
    char line[TEXT_LINE];
    struct text out = text_to(STDERR_FILENO, line, sizeof line);
    text_string(&out, "heapsmith: this does not hold: ");
    text_string(&out, equation);
    text_string(&out, "\n");
    text_end(&out);
    abort();
}

static void check_fronts(struct heap *heap, void *with)
{
    (void)with;
    if (heap == &hs_no_heap)
        return;
    for (unsigned class = 0; class < CLASS_COUNT; class++) {
        check(hs_held(heap, class) <= hs_class[class].capacity, "held <= capacity");
        check(stack_slots(heap, class)[-1] == NULL, "below a stack's oldest block lies NULL");
        check(heap->end[1 + class] == stack_slots(heap, class) + hs_class[class].stack, "a stack ends where it is full");
        check(heap->front[class].listed <= hs_class[class].list_capacity, "listed <= list_capacity");
    }
}

void heapsmith_check(void)
{
    if (!hs_started())
        return;
    hs_store_check();
    hs_visit_heaps(check_fronts, NULL);
    hs_large_check();
}

void heapsmith_reset(void)
{
    if (!HEAPSMITH_CHECKED || !hs_started())
        return;
    hs_forget_heaps();
    empties_reset();
    classifier_reset();
    release_reset();
    remote_reset();
    hs_count = (struct heap_count){ 0 };
    memset(hs_no_heap.count, 0, sizeof hs_no_heap.count);
    hardening_reset();
    hs_store_reset();
    if (!hs_large_reset())
        hs_broken("a reset heap finds its address space again");
}
