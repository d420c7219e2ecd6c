/* x86-64: one instruction where the compiler would take several, and what C has no words for. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Have pages another size on some systems? */
#define PAGES_VARY 0

/* Words that one thread at a time writes while others may read them: a reader gets the value before or after. */
static inline void arch_add_32(uint32_t *word, uint32_t by)
{
    __asm__("addl %1, %0" : "+m"(*word) : "ir"(by) : "cc");
}

static inline void arch_subtract_32(uint32_t *word, uint32_t by)
{
    __asm__("subl %1, %0" : "+m"(*word) : "ir"(by) : "cc");
}

static inline void arch_add_64(uint64_t *word, uint64_t by)
{
    __asm__("addq %1, %0" : "+m"(*word) : "er"(by) : "cc");
}

/* Takes `by` from the word of one thread. Was it less? Then the word wraps. */
static inline bool arch_take_64(uint64_t *word, uint64_t by)
{
    bool less;
    __asm__("subq %2, %0" : "+m"(*word), "=@ccc"(less) : "er"(by));
    return less;
}

/* Is the word zero? It is written, and stays what it is. */
static inline bool arch_written_zero(uint64_t *word)
{
    bool zero;
    __asm__("orq $0, %0" : "+m"(*word), "=@ccz"(zero));
    return zero;
}

static inline void arch_pause(void)
{
    __builtin_ia32_pause();
}

/* The time-stamp counter. What comes before has ended when it is read, and what comes behind has not begun. */
static inline uint64_t arch_clock(void)
{
    __builtin_ia32_lfence();
    uint64_t now = __builtin_ia32_rdtsc();
    __builtin_ia32_lfence();
    return now;
}

/* The counter, and the processor: Linux puts its number into the low 12 bits, its node above.
 *
 * rdtscp waits for every earlier instruction and load (Intel SDM vol. 2B, RDTSCP). Plain rdtsc may run a cache miss early. */
static inline uint64_t arch_stamp(uint32_t *place)
{
    return __builtin_ia32_rdtscp(place);
}

/* Where a fault of these two is handled (8_threads/front/prepared.c), the context has the block where it is passed or returned. */
static inline void *arch_load_below(void **top)
{
    void *block = NULL;
    __asm__("movq -8(%1), %0" : "=a"(block) : "r"(top) : "memory");
    return block;
}

static inline void arch_store_at(void **top, void *block)
{
    __asm__("movq %1, (%0)" : : "r"(top), "D"(block) : "memory");
}

/* Of a ucontext_t: the instruction, and the first two arguments of a function that is called there. */
#define CONTEXT_INSTRUCTION(context) ((context)->uc_mcontext.gregs[REG_RIP])
#define CONTEXT_FIRST(context) ((context)->uc_mcontext.gregs[REG_RDI])
#define CONTEXT_SECOND(context) ((context)->uc_mcontext.gregs[REG_RSI])

/* Restartable sequences. The signature stands before each abort handler: what the C library tells the kernel. */
enum { HAS_SEQUENCES = 1, ABORT_SIGNATURE = 0x53053053 };

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

#define SEQUENCE_POP(here_, heaps_, none_, row_, block_)                                                              \
    {                                                                                                               \
        void *at_, *below_, *heap_;                                                                                 \
        SEQUENCE(SEQUENCE_BEGINS                                                                                    \
                 "movq -8(%[at]), %[block]\n\t"                                                                     \
                 "leaq -8(%[at]), %[below]\n\t"                                                                     \
                 "testq %[block], %[block]\n\t"                                                                     \
                 "cmoveq %[at], %[below]\n\t"                                                                       \
                 "movq %[below], (%[heap],%[row],8)\n" SEQUENCE_ENDS                                                \
                 : [block] "=&r"(block_), [at] "=&r"(at_), [below] "=&r"(below_), [heap] "=&r"(heap_)               \
                 : [here] "r"(here_), [heaps] "r"(heaps_), [none] "r"(none_), [row] "r"(row_),                      \
                   [signature] "i"(ABORT_SIGNATURE)                                                                 \
                 : "cc", "memory");                                                                                 \
    }

#define SEQUENCE_PUSH(here_, heaps_, none_, row_, block_, end_, full_)                                                \
    {                                                                                                               \
        void *at_, *above_, *heap_;                                                                                 \
        SEQUENCE(SEQUENCE_BEGINS                                                                                    \
                 "movq %[block], (%[at])\n\t"                                                                       \
                 "leaq 8(%[at]), %[above]\n\t"                                                                      \
                 "cmpq %c[end](%[heap],%[row],8), %[at]\n\t"                                                        \
                 "cmoveq %[at], %[above]\n\t"                                                                       \
                 "movq %[above], (%[heap],%[row],8)\n" SEQUENCE_ENDS                                                \
                 : "=@cce"(full_), [at] "=&r"(at_), [above] "=&r"(above_), [heap] "=&r"(heap_)                      \
                 : [here] "r"(here_), [heaps] "r"(heaps_), [none] "r"(none_), [row] "r"(row_), [block] "r"(block_),  \
                   [end] "i"(end_), [signature] "i"(ABORT_SIGNATURE)                                                \
                 : "cc", "memory");                                                                                 \
    }

/* In unwind information: the registers of a frame's base and of the stack's top, and the return address
 * (System V ABI for AMD64, 3.6.2). */
enum { ARCH_FRAME_BASE = 6, ARCH_FRAME_TOP = 7, ARCH_FRAME_RETURN = 16 };

/* The stack's top after the return from a function, and the frame's base in its caller. */
#define ARCH_CALLER_TOP ((uintptr_t)__builtin_dwarf_cfa())
#define ARCH_CALLER_BASE (*(const uintptr_t *)__builtin_frame_address(0))
