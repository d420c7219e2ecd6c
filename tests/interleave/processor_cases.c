/* Heaps of processors without restartable sequences (runtime/heap/8_threads/heaps/processor.c): all threads run on one processor, whose
 * heap the first one makes, and pop and push its stack under a lock. */
#include "explore.h"

#include "2_system/locks.c"
#include "2_system/numbered_locks.c"

#include "fork.h"

#include <sched.h>

static int here(void)
{
    return 0;
}

#define sched_getcpu here
#include "8_threads/heaps/processor.c"

enum { SLOTS = THREADS + 2 };

static struct heap heap;
static void *slots[SLOTS];
static uint64_t made, blocks[THREADS], taken[THREADS];

struct heap hs_no_heap;

bool hs_started(void)
{
    return true;
}

/* Under the pool lock. The stack has a NULL below its first block. */
struct heap *hs_heap_create(void)
{
    made++;
    __atomic_store_n(&heap.top[1], slots + 1, __ATOMIC_RELAXED);
    heap.end[1] = slots + SLOTS;
    return &heap;
}

static void setup(void)
{
    share("pool lock", &pool_lock, sizeof pool_lock);
    share("numbered locks", hs_numbered, sizeof hs_numbered);
    share("heap of the processor", &hs_processor_heap[NO_PROCESSOR + PROCESSORS], sizeof hs_processor_heap[0]);
    share("of no processor", &nowhere.processor, sizeof nowhere.processor);
    share("top", &heap.top[1], sizeof heap.top[1]);
    share("end", &heap.end[1], sizeof heap.end[1]);
    share("slots", slots, sizeof slots);
    share("made", &made, sizeof made);
    share("blocks", blocks, sizeof blocks);
    share("taken", taken, sizeof taken);
}

/* A thread frees a block of its own, and gets some thread's. */
static void use(int thread)
{
    expect(hs_heap_start() == &heap, "no heap");
    blocks[thread] = 1;
    expect(processor_put(0, &blocks[thread]), "the stack is full");
    uint64_t *block = processor_take(0);
    expect(block != NULL, "a block is lost");
    *block = 2;
    taken[thread] = 1 + (uint64_t)(block - blocks);
}

static uint64_t each_once(void)
{
    uint64_t seen = 0;
    expect(made == 1, "a processor has two heaps");
    for (int thread = 0; thread < THREADS; thread++)
        if (taken[thread] > 0)
            seen += UINT64_C(1) << 4 * (taken[thread] - 1);
    expect((seen & ~UINT64_C(0x111)) == 0, "two threads have a block");
    expect(heap.top[1] == slots + 1, "a block is left");
    return taken[0];
}

static const struct explored all[] = {
    { "processor_2", 2, 0, setup, use, 0, each_once },
    { 0 },
};
const struct explored *const cases = all;
