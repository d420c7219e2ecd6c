/* Heaps of processors: a thread pops and pushes the stacks of the processor that it runs on (docs/lab/threads.md).
 *
 * Both are restartable sequences (rseq(2), Linux 4.18): the thread stores the address of a description, and while it runs
 * the described instructions no other thread runs on its processor. If the kernel has to interrupt them (another thread, a
 * signal, another processor), it makes the thread go on at the abort handler instead, and the sequence begins anew. Only the
 * last instruction of a sequence changes anything that others read: the stack's top. */
#pragma once

#include "1_base/arch/arch.h"
#include "3_records/heap.h"

enum {
    PROCESSORS = 8192, /* the most that Linux is built for on x86-64, and as many as elsewhere; their numbers are below */
    NO_PROCESSOR = 2,  /* the least number that the kernel or the C library may say is -2: no sequences for this thread */
};

/* Each thread has one, which the kernel writes: struct rseq of linux/rseq.h. */
struct restartable {
    uint32_t processor_or_0;
    int32_t processor; /* below 0: none */
    uint64_t sequence; /* address of the description; 0: none */
    uint32_t flags;
} __attribute__((aligned(32)));

/* The calling thread's own; before its first slow operation, and without restartable sequences, the one of no processor. */
extern __thread struct restartable *hs_here;

/* Heaps by NO_PROCESSOR + number; then, for threads without restartable sequences, the same again. Each is its distance from
 * hs_no_heap in bytes: where nobody has written, a processor has the heap of no thread. */
extern intptr_t hs_processor_heap[NO_PROCESSOR + 2 * PROCESSORS];

static inline struct heap *processor_heap_at(size_t place)
{
    return (struct heap *)((char *)&hs_no_heap + __atomic_load_n(&hs_processor_heap[place], __ATOMIC_ACQUIRE));
}

/* Any processor's on which the thread has been just now. Whoever writes more than a counter there holds its lock, or is in a
 * sequence. */
static inline struct heap *processor_heap(void)
{
    return processor_heap_at((size_t)(NO_PROCESSOR + hs_here->processor));
}

/* The newest block of the stack in this row; NULL: it is empty, and stays as it is. */
static inline void *processor_pop(size_t row)
{
    void *block;
    SEQUENCE_POP(hs_here, hs_processor_heap + NO_PROCESSOR, &hs_no_heap, row, block);
    return block;
}

/* False: the stack in this row is full, and stays as it is; the block went to the slot above its end, which nobody reads. */
static inline bool processor_push(size_t row, void *block)
{
    bool full;
    SEQUENCE_PUSH(hs_here, hs_processor_heap + NO_PROCESSOR, &hs_no_heap, row, block, offsetof(struct heap, end), full);
    return !full;
}

/* What the checked build counts: a block left the stack in this row, or came to it. */
static inline void processor_popped(size_t row)
{
    if (COUNTS_HITS)
        count_own(&processor_heap()->count[row - 1].hit0, 1);
}

static inline void processor_pushed(size_t row)
{
    if (COUNTS_HITS)
        count_own(&processor_heap()->count[row - 1].push, 1);
}

/* Does the thread find the stacks of its processor from now on, though it did not before this call? Without restartable
 * sequences it never does, and each call says so: its pops and pushes are those below, under a lock. */
bool processor_found(void);
void *processor_take(unsigned class); /* as processor_pop */
bool processor_put(unsigned class, void *block); /* as processor_push */

struct heap *hs_heap_start(void); /* the processor's heap, created if it has none; hs_no_heap without memory */
struct heap *hs_own_heap(void);   /* the processor's; hs_no_heap without any */
void heaps_forget(void);

size_t processor_place(void); /* in hs_processor_heap, of the calling thread's processor */

static inline int32_t processor_at(size_t place)
{
    return (int32_t)((place - NO_PROCESSOR) % PROCESSORS);
}

void processor_settle(size_t place, struct heap *heap); /* a new one; under the pool lock */
