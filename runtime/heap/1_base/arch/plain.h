/* In plain C: what a processor's file takes that has nothing better. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Have pages another size on some systems? */
#define PAGES_VARY 1

/* Words that one thread at a time writes while others may read them: a reader gets the value before or after. */
static inline void arch_add_32(uint32_t *word, uint32_t by)
{
    __atomic_store_n(word, __atomic_load_n(word, __ATOMIC_RELAXED) + by, __ATOMIC_RELAXED);
}

static inline void arch_subtract_32(uint32_t *word, uint32_t by)
{
    arch_add_32(word, -by);
}

static inline void arch_add_64(uint64_t *word, uint64_t by)
{
    __atomic_store_n(word, __atomic_load_n(word, __ATOMIC_RELAXED) + by, __ATOMIC_RELAXED);
}

/* Takes `by` from the word of one thread. Was it less? Then the word wraps. */
static inline bool arch_take_64(uint64_t *word, uint64_t by)
{
    uint64_t found = __atomic_load_n(word, __ATOMIC_RELAXED);
    __atomic_store_n(word, found - by, __ATOMIC_RELAXED);
    return found < by;
}

/* Is the word zero? It is written first, and stays what it is. */
static inline bool arch_written_zero(uint64_t *word)
{
    volatile uint64_t *written = word;
    uint64_t found = *written;
    *written = found;
    return found == 0;
}

/* The stack's top after the return from a function; 0: the compiler does not tell. Clang 14 has the frame's base for it on 64-bit Arm,
 * and crashes on 64-bit RISC-V. */
#ifdef __clang__
#define ARCH_CALLER_TOP ((uintptr_t)0)
#else
#define ARCH_CALLER_TOP ((uintptr_t)__builtin_dwarf_cfa())
#endif

/* Stacks of processors without restartable sequences: threads pop and push under a lock. Without it, who performs events in
 * one order. */
enum { HAS_SEQUENCES = 0, ABORT_SIGNATURE = 0 };

#define SEQUENCE_POP(here, heaps, none, row, block)                                        \
    {                                                                                      \
        char *heap_ = (char *)(none) + (heaps)[(here)->processor];                         \
        void ***top_ = &((void ***)heap_)[row];                                            \
        (block) = (*top_)[-1];                                                             \
        if ((block) != NULL)                                                               \
            --*top_;                                                                       \
    }

#define SEQUENCE_PUSH(here, heaps, none, row, block, end, full)                            \
    {                                                                                      \
        char *heap_ = (char *)(none) + (heaps)[(here)->processor];                         \
        void ***top_ = &((void ***)heap_)[row];                                            \
        (full) = *top_ == ((void ***)(heap_ + (end)))[row];                                \
        if (!(full))                                                                       \
            *(*top_)++ = (block);                                                          \
    }
