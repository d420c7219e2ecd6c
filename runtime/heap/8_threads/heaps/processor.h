/* Heaps of processors: a thread pops and pushes the stacks of the processor that it runs on (docs/concurrency.md section 4).
 *
 * Both are restartable sequences (rseq(2), Linux 4.18): the thread stores the address of a description, and while it runs
 * the described instructions no other thread runs on its processor. If the kernel has to interrupt them (another thread, a
 * signal, another processor), it makes the thread go on at the abort handler instead, and the sequence begins anew. Only the
 * last instruction of a sequence changes anything that others read: the stack's top. */
#pragma once

#include "3_records/heap.h"

enum {
    PROCESSORS = 8192,    /* the most that Linux is built for on x86-64; their numbers are below */
    NO_PROCESSOR = 2,     /* the least number that the kernel or the C library may say is -2: no sequences for this thread */
    ABORT_SIGNATURE = 0x53053053, /* before each abort handler: what the C library tells the kernel on x86-64 */
};

/* Of each thread, written by the kernel: struct rseq of linux/rseq.h. */
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

/* The description that the kernel reads, and the way from the stack's row of this processor's heap to its top, in `at`. */
#define SEQUENCE_BEGINS                                                                                    \
    ".pushsection __rseq_cs, \"aw\"\n\t"                                                                    \
    ".balign 32\n"                                                                                         \
    "770: .long 0, 0\n\t"                                                                                 \
    ".quad 772f, 773f - 772f, 774f\n\t"                                                                   \
    ".popsection\n"                                                                                        \
    "771: leaq 770b(%%rip), %[at]\n\t"                                                                    \
    "movq %[at], 8(%[here])\n"                                                                            \
    "772: movslq 4(%[here]), %[heap]\n\t"                                                                 \
    "movq (%[heaps],%[heap],8), %[heap]\n\t"                                                              \
    "addq %[none], %[heap]\n\t"                                                                           \
    "movq (%[heap],%[row],8), %[at]\n\t"

/* Behind its last store; where the kernel interrupts it, it begins anew. Before that place: ud1, whose operand is the
 * signature. */
#define SEQUENCE_ENDS                                                                                      \
    "773:\n\t"                                                                                            \
    ".pushsection .text.abort, \"ax\"\n\t"                                                                \
    ".byte 0x0f, 0xb9, 0x3d\n\t"                                                                          \
    ".long %c[signature]\n"                                                                               \
    "774: jmp 771b\n\t"                                                                                   \
    ".popsection"

#ifndef SEQUENCE /* a parser of C alone defines it as nothing; volatile: each call is one, in a loop too */
#define SEQUENCE __asm__ volatile
#endif

/* The newest block of the stack in this row; NULL: it is empty, and stays as it is. */
static inline void *processor_pop(size_t row)
{
    void *block, *at, *below, *heap;
    SEQUENCE(SEQUENCE_BEGINS
            "movq -8(%[at]), %[block]\n\t"
            "leaq -8(%[at]), %[below]\n\t"
            "testq %[block], %[block]\n\t"
            "cmoveq %[at], %[below]\n\t"
            "movq %[below], (%[heap],%[row],8)\n"
            SEQUENCE_ENDS
            : [block] "=&r"(block), [at] "=&r"(at), [below] "=&r"(below), [heap] "=&r"(heap)
            : [here] "r"(hs_here), [heaps] "r"(hs_processor_heap + NO_PROCESSOR), [none] "r"(&hs_no_heap), [row] "r"(row),
              [signature] "i"(ABORT_SIGNATURE)
            : "cc", "memory");
    return block;
}

/* False: the stack in this row is full, and stays as it is; the block went to the slot above its end, which nobody reads. */
static inline bool processor_push(size_t row, void *block)
{
    bool full;
    void *at, *above, *heap;
    SEQUENCE(SEQUENCE_BEGINS
            "movq %[block], (%[at])\n\t"
            "leaq 8(%[at]), %[above]\n\t"
            "cmpq %c[end](%[heap],%[row],8), %[at]\n\t"
            "cmoveq %[at], %[above]\n\t"
            "movq %[above], (%[heap],%[row],8)\n"
            SEQUENCE_ENDS
            : "=@cce"(full), [at] "=&r"(at), [above] "=&r"(above), [heap] "=&r"(heap)
            : [here] "r"(hs_here), [heaps] "r"(hs_processor_heap + NO_PROCESSOR), [none] "r"(&hs_no_heap), [row] "r"(row),
              [block] "r"(block),
              [end] "i"(offsetof(struct heap, end)), [signature] "i"(ABORT_SIGNATURE)
            : "cc", "memory");
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
