/* Sampling that is switched on and off (runtime/heap/9_api/sampling/ready.c) while a thread gets its heap and allocates: whoever
 * switches it walks the heaps and changes their rows, and the thread parks its stack and takes it out again. */
#include "explore.h"

#include <sys/syscall.h>
#include <unistd.h>

/* The stack is its thread's alone here, who needs no atomics for its top; the explorer wants one kind of access to a word. */
#define __atomic_store_n(at, value, order) \
    _Generic((at), void ***: *(at) = (value), default: __atomic_store_n(at, value, order))
#define __atomic_load_n(at, order) _Generic((at), void ***: *(at), default: __atomic_load_n(at, order))

#define constructor unused /* nothing starts before main */
#include "8_threads/life.c"
#undef constructor
#include "8_threads/rows.c"
#include "9_api/sampling/ready.c"
#define syscall(...) 0 /* there is such a thread */
#include "9_api/sampling/switch.c"
#undef syscall

enum { ME = 1, OTHER = 2 }; /* who may be sampled alone: the thread that allocates, or none of the case */
enum { CLASS = 0, BLOCKS = 4, NOTHING = 0 }; /* a request of no bytes is of the first class, which has the one row by size */

static struct {
    struct heap heap;
    void *slot[SLOT_COUNT];
} own;
static uint64_t blocks[BLOCKS], given, taken_back, with_program;

/* What the real sources need of the rest of the runtime. */
struct heap hs_no_heap;
__thread struct heap *hs_self = &hs_no_heap;
__thread uint64_t hs_until_sample;
uint64_t hs_sample_mean;
_Alignas(8) uint32_t hs_sample_thread;
struct heap_count hs_count;
size_t hs_span_bytes;
uintptr_t hs_span;
const uint8_t hs_size_class[SIZE_CLASS_COUNT];
const struct class_plan hs_class[CLASS_COUNT] = {
    [CLASS] = { .usable = GRAIN, .capacity = 2, .slot = 1, .stack = 2 },
};

bool sampling_is_mine(uint32_t thread)
{
    return thread == ME;
}

void *os_map(size_t bytes, size_t alignment)
{
    (void)bytes;
    (void)alignment;
    return &own.heap;
}

struct heap *hs_heap_start(void)
{
    return &hs_no_heap;
}

void *hs_malloc_large(size_t bytes)
{
    (void)bytes;
    fail("a request of a thread without a heap");
}

void *hs_malloc_sampled(size_t bytes, const void *caller)
{
    (void)bytes;
    (void)caller;
    fail("a request of no bytes is due");
}

void *stack_pop(struct heap *heap, unsigned class)
{
    void *block = heap->top[1 + class][-1];
    stack_hold(heap, class, stack_held(heap, class) - 1);
    return block;
}

/* A store that never lacks a block, and takes each back. */
static void *refill(struct heap *heap, unsigned class)
{
    if (!stack_is_open(heap, class))
        stack_open(heap, class);
    return &blocks[given++];
}

static void flush(struct heap *heap, unsigned class, void *block)
{
    if (!stack_is_open(heap, class))
        stack_open(heap, class);
    taken_back += block != NULL;
}

static void setup(void)
{
    share("mean", &hs_sample_mean, sizeof hs_sample_mean);
    share("thread", &hs_sample_thread, sizeof hs_sample_thread);
    share("mean before", &mean_before, sizeof mean_before);
    share("newest", &hs_newest_heap, sizeof hs_newest_heap);
    share("heaps", &hs_count.heaps, sizeof hs_count.heaps);
    share("no heap", &hs_no_heap.earlier, sizeof hs_no_heap.earlier);
    share("span", &hs_span, sizeof hs_span);
    share("span bytes", &hs_span_bytes, sizeof hs_span_bytes);
    share("top", own.heap.top, sizeof own.heap.top);
    share("end", own.heap.end, sizeof own.heap.end);
    share("spans", &own.heap.span, 2 * sizeof own.heap.span);
    share("rows", own.heap.row_of, sizeof own.heap.row_of);
    share("earlier", &own.heap.earlier, sizeof own.heap.earlier);
    share("parked", own.heap.caches.parked, sizeof own.heap.caches.parked);
    share("watched", &own.heap.caches.watched, sizeof own.heap.caches.watched);
    share("slots", own.heap.slot, 4 * sizeof own.heap.slot[0]);
    share("given", &given, sizeof given);
    share("taken back", &taken_back, sizeof taken_back);
    share("with the program", &with_program, sizeof with_program);
}

/* As the emitted malloc and free, whose load of a row is one instruction. */
static void *allocate(void)
{
    struct heap *heap = hs_self;
    const unsigned row = __atomic_load_n(&heap->row_of[NOTHING], __ATOMIC_RELAXED);
    void *block = heap->top[row][-1];
    if (block == NULL)
        block = hs_malloc_watched(heap, CLASS, NOTHING, refill);
    else
        __atomic_store_n(&heap->top[row], heap->top[row] - 1, __ATOMIC_RELAXED);
    expect(block != NULL, "a request gets no block");
    with_program++;
    return block;
}

static void release(void *block)
{
    struct heap *heap = hs_self;
    void **top = heap->top[1 + CLASS];
    with_program--;
    if (top != heap->end[1 + CLASS]) {
        *top = block;
        __atomic_store_n(&heap->top[1 + CLASS], top + 1, __ATOMIC_RELAXED);
    } else if (sampling_parks(heap, 1 + CLASS)) {
        hs_free_watched(heap, CLASS, block, flush);
    } else {
        flush(heap, CLASS, block);
    }
}

/* Each block that the store gave is back, or with the program, or in the stack, parked or not. */
static void each_once(void)
{
    expect(given == taken_back + with_program + stack_held(&own.heap, CLASS), "a block is lost, or there twice");
}

static void *begin(void)
{
    hs_self = hs_heap_create();
    sampling_heap_started(hs_self);
    return allocate();
}

static void work(void)
{
    void *first = begin();
    release(first);
    void *second = allocate();
    release(second);
    each_once();
}

static void switch_on(int thread)
{
    if (thread == 0)
        hs_sampling_set(1);
    else
        work();
}

static void switch_on_and_off(int thread)
{
    if (thread == 0) {
        hs_sampling_set(1);
        hs_sampling_set(0);
    } else {
        work();
    }
}

static void setup_on(void)
{
    setup();
    hs_sample_mean = 1;
}

static void switch_off_and_on(int thread)
{
    if (thread == 0) {
        hs_sampling_set(0);
        hs_sampling_set(1);
    } else {
        begin();
    }
}

static void setup_mine(void)
{
    setup();
    hs_sample_thread = ME;
}

static void switch_to_other(int thread)
{
    if (thread == 0)
        hs_sample(1, OTHER);
    else
        expect(!sampling_counts(), "a request counts that is of another thread");
}

/* Two signals. */
static void switch_twice(int thread)
{
    if (thread == 0)
        hs_self = hs_heap_create();
    sampling_switch();
}

/* Outcome: does the row lead to the slow path, and is the heap watched? */
static uint64_t ways(void)
{
    each_once();
    expect(hs_sample_mean == 0 || own.heap.row_of[NOTHING] == 0, "samples are taken, and the row leads past them");
    return (uint64_t)(own.heap.row_of[NOTHING] == 0) << 1 | own.heap.caches.watched;
}

/* After two switches. */
static uint64_t ways_again(void)
{
    expect(hs_sample_mean == 1, "samples are not taken with the mean that they had");
    return ways();
}

static const struct explored all[] = {
    { "sampling_on", 2, 0, setup, switch_on, 0, ways },
    { "sampling_off", 2, 0, setup, switch_on_and_off, 0, ways },
    { "sampling_again", 2, 0, setup_on, switch_off_and_on, 0, ways },
    { "sampling_signals", 2, 0, setup_on, switch_twice, 0, ways_again },
    { "sampling_other", 2, 0, setup_mine, switch_to_other, 0, 0 },
    { 0 },
};
const struct explored *const cases = all;
