/* What heapsmith's tools ask of a library: counters, addresses, and in the checked build the invariants and a reset. */
#include "api.h"
#include "heap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    GLOBAL_COUNTERS = sizeof(struct heap_count) / sizeof(uint64_t),
    CLASS_COUNTERS = sizeof(struct class_count) / sizeof(uint64_t),
};

struct heap_count hs_count;

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
    return GLOBAL_COUNTERS + CLASS_COUNT * CLASS_COUNTERS;
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
    memset(counters + GLOBAL_COUNTERS, 0, CLASS_COUNT * sizeof(struct class_count));
    hs_visit_heaps(add_heap, counters + GLOBAL_COUNTERS);
}

int64_t heapsmith_locate(const void *block)
{
    uintptr_t offset = (uintptr_t)block - hs_span;
    return offset < hs_span_bytes ? (int64_t)offset : hs_large_locate(block);
}

/* The message goes out without stdio, which may allocate. */
void hs_broken(const char *equation)
{
    static const char head[] = "heapsmith: this does not hold: ";
    struct { const char *text; size_t length; } part[] = { { head, sizeof head - 1 }, { equation, strlen(equation) }, { "\n", 1 } };
    for (size_t index = 0; index < 3; index++)
        if (write(STDERR_FILENO, part[index].text, part[index].length) < 0)
            break;
    abort();
}

static void check_fronts(struct heap *heap, void *with)
{
    (void)with;
    if (heap == &hs_no_heap)
        return;
    for (unsigned class = 0; class < CLASS_COUNT; class++) {
        check(heap->front[class].held <= hs_class[class].capacity, "held <= capacity");
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
    if (!hs_store_reset() || !hs_large_reset())
        hs_broken("a reset heap finds its address space again");
}
