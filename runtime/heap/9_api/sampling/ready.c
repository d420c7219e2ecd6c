/* Sampling "ready": the slow paths of a heap whose requests are watched, and how it comes to be one. */
#include "9_api/sampling/ready.h"

#include "3_records/segregation/segregation.h"
#include "3_records/span.h"
#include "8_threads/front/own_stack.h"
#include "8_threads/large.h"
#include "8_threads/thread.h"

/* Any thread may do this at any time: the row of no class serves whatever is asked for, only slower. */
static void set_rows(struct heap *heap, bool watched)
{
    for (size_t bytes = 0; bytes <= DIRECT_LIMIT; bytes++)
        __atomic_store_n(&heap->row_of[bytes], watched ? 0 : (uint8_t)hs_row_of_size(size_to_class(bytes)), __ATOMIC_RELAXED);
}

/* By the heap's own thread, as all that follows. */
static void park(struct heap *heap, unsigned class)
{
    if (hs_class[class].usable <= DIRECT_LIMIT || !stack_is_open(heap, class))
        return;
    __atomic_store_n(&heap->caches.parked[class], heap->top[1 + class], __ATOMIC_RELAXED);
    heap->top[1 + class] = heap->end[1 + class] = heap->slot + 1;
}

static void unpark(struct heap *heap, unsigned class)
{
    void **top = heap->caches.parked[class];
    if (top == NULL)
        return;
    stack_open_at(heap, class, stack_slots(heap, class), stack_held(heap, class));
    __atomic_store_n(&heap->caches.parked[class], NULL, __ATOMIC_RELAXED);
}

static void unpark_all(struct heap *heap)
{
    for (unsigned class = 0; class < CLASS_COUNT; class++)
        unpark(heap, class);
}

static void watch(struct heap *heap)
{
    heap->caches.watched = 1;
    set_rows(heap, true);
    for (unsigned class = 0; class < CLASS_COUNT; class++)
        park(heap, class);
}

/* Its requests are not counted, but its rows may lead here. Somebody may switch samples on meanwhile: whoever comes last, the mean
 * or the rows, sees the other. */
static void turn_back(struct heap *heap)
{
    set_rows(heap, false);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (sampling_counts())
        set_rows(heap, true);
}

/* Brings what the thread knows up to date. */
static void look(struct heap *heap)
{
    bool counts = sampling_counts();
    if (heap == &hs_no_heap || counts == (heap->caches.watched != 0))
        return;
    if (counts) {
        watch(heap);
    } else {
        unpark_all(heap);
        heap->caches.watched = 0;
        turn_back(heap);
    }
}

void sampling_watches(void)
{
    look(hs_self);
}

/* Another thread that sets a mean meanwhile does this too: whoever comes last sees the last mean. */
void sampling_leads(void)
{
    bool watched;
    do {
        __atomic_thread_fence(__ATOMIC_SEQ_CST); /* as in turn_back and sampling_heap_started */
        watched = sampling_mean() > 0;
        for (struct heap *heap = hs_heap_after(&hs_no_heap); heap != NULL; heap = hs_heap_after(heap))
            set_rows(heap, watched);
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    } while (watched != (sampling_mean() > 0));
}

void hs_sampling_set(uint64_t mean)
{
    sampling_set_mean(mean);
    sampling_leads();
}

void sampling_heap_made(struct heap *heap)
{
    if (sampling_counts())
        set_rows(heap, true);
}

/* Somebody who switches samples on either finds the heap in the list of all, or the heap finds the mean. */
void sampling_heap_started(struct heap *heap)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    look(heap);
}

void sampling_heap_adopted(struct heap *heap)
{
    look(heap);
}

/* Requests are watched no more until the thread, or a thread that adopts the heap, looks again. */
void sampling_heap_drains(struct heap *heap)
{
    unpark_all(heap);
    heap->caches.watched = 0;
}

/* Here too where nobody samples: a miss. Rows that another thread turned late, or that are meant for another thread, lead here with
 * blocks in the stack. */
static APART void *watched_slow(struct heap *heap, unsigned class, front_refill *refill)
{
    heap = hs_heap_of(heap);
    if (heap == &hs_no_heap)
        return hs_alloc_run_for(class);
    look(heap);
    unpark(heap, class);
    bool led = stack_held(heap, class) > 0;
    void *block = led ? stack_pop(heap, class) : refill(heap, class);
    if (heap->caches.watched != 0)
        park(heap, class);
    else if (led && __atomic_load_n(&heap->row_of[0], __ATOMIC_RELAXED) == 0)
        turn_back(heap);
    return block;
}

void *hs_malloc_watched(struct heap *heap, unsigned class, size_t bytes, front_refill *refill)
{
    bool counts = sampling_counts();
    if (counts && sampling_due(bytes))
        return hs_malloc_sampled(bytes, NULL);
    void *block = heap->top[1 + class][-1];
    if (!counts || block == NULL || heap->caches.watched == 0)
        return watched_slow(heap, class, refill);
    count_checked(&heap->count[class].hit0);
    __atomic_store_n(&heap->top[1 + class], heap->top[1 + class] - 1, __ATOMIC_RELAXED);
    return block;
}

void *hs_malloc_large_watched(size_t bytes)
{
    if (sampling_counts() && sampling_due(bytes))
        return hs_malloc_sampled(bytes, NULL);
    return hs_malloc_large(bytes);
}

void hs_free_watched(struct heap *heap, unsigned class, void *block, front_flush *flush)
{
    look(heap);
    unpark(heap, class);
    void **top = heap->top[1 + class];
    if (top == heap->end[1 + class]) {
        flush(heap, class, block);
    } else {
        count_checked(&heap->count[class].push);
        *top = block;
        __atomic_store_n(&heap->top[1 + class], top + 1, __ATOMIC_RELAXED);
    }
    if (heap->caches.watched != 0)
        park(heap, class);
}
