/* The hit paths of this heap: malloc and free for array stacks.
 *
 * Emitted by heapsmith 0.1.0 from design "default", content hash e72def72db02.
 * Do not edit: change the design, then run: heapsmith generate default -o DIR
 */
/* What heap.c defines is in this library: it is reached without a load of its address. */
#pragma GCC visibility push(hidden)
#include "9_api/api.h"
#include "9_api/operator_new.h"
#include "8_threads/front/array_stack.h"
#include "8_threads/front/own_stack.h"
#include "4_blocks/classifier/classifier.h"
#include "5_slab_policies/remote/remote.h"
#include "4_blocks/hardening/hardening.h"
#include "9_api/foreign/foreign.h"
#include "9_api/foreign/elsewhere.h"
#include "3_records/lookup/heap_table.h"
#include "5_slab_policies/ownership/ownership.h"
#include "5_slab_policies/ownership/slab.h"
#include "3_records/segregation/segregation.h"
#include "3_records/segregation/off.h"
#include "9_api/sampling/off.h"
#include HEAPS_ROW
#include "8_threads/large.h"
#include "3_records/span.h"
#include "8_threads/thread.h"
#pragma GCC visibility pop

/* The block, now that it has left the stack. One instruction where the compiler, which has read top before, would take
 * two; and the block is in the register that it is returned in, or there would be a third. */
static inline void *hs_stack_popped(void ***top, void *block)
{
#ifdef __x86_64__
    __asm__("subq $8, %0" : "+m"(*top), "+a"(block) : : "cc");
    if (block == NULL)
        __builtin_unreachable(); /* as before the instruction, which the compiler does not read */
#else
    __atomic_store_n(top, *top - 1, __ATOMIC_RELAXED);
#endif
    return block;
}

/* The slot at top was filled. */
static inline void hs_stack_pushed(void ***top)
{
#ifdef __x86_64__
    __asm__("addq $8, %0" : "+m"(*top) : : "cc");
#else
    __atomic_store_n(top, *top + 1, __ATOMIC_RELAXED);
#endif
}

/* malloc pops the stack in the row of the class, and free pushes it. The processor would have to guess a jump to a
 * function of the class, and guesses wrong where sizes alternate (docs/lab/dispatch.md). Rows of stacks that have
 * had no block yet are empty and full. */

static __attribute__((noinline)) void *malloc_miss(size_t bytes)
{
    size_t class = size_to_class(bytes);
    return array_stack_refill(hs_self, class);
}

static inline void *pop(struct heap *heap, size_t row, size_t bytes)
{
    void *block = heap->top[row][-1];
    if (block == NULL) /* empty or not open, or no heap */
        return malloc_miss(bytes);
    count_checked(&heap->count[row - 1].hit0);
    return hs_stack_popped(&heap->top[row], block);
}

/* Hit path: 6 loads, 1 store, 2 branches. */
static __attribute__((noinline)) void *malloc_above(size_t bytes)
{
    if (bytes > SMALL_LIMIT)
        return hs_malloc_large(bytes);
    return pop(hs_self, 1 + (size_t)size_to_class(bytes), bytes);
}

/* Hit path: 6 loads, 1 store, 2 branches. */
void *malloc(size_t bytes)
{
    if (bytes > DIRECT_LIMIT)
        return malloc_above(bytes);
    struct heap *heap = hs_self;
    return pop(heap, heap->row_of[bytes], bytes);
}

static __attribute__((noinline)) void free_miss(struct heap *heap, size_t row, void *block)
{
    if (row == 0) { /* no class: no block of ours */
        hs_free_large(block);
        return;
    }
    size_t class = row - 1;
    array_stack_flush(heap, class, block);
}

static inline void push(size_t row, void *block)
{
    struct heap *heap = hs_self;
    void **top = heap->top[row];
    if (top == heap->end[row]) { /* full or not open, or no class, or no heap */
        free_miss(heap, row, block);
        return;
    }
    count_checked(&heap->count[row - 1].push);
    *top = block;
    hs_stack_pushed(&heap->top[row]);
}

static inline void free_small(void *block)
{
    size_t slab = ((uintptr_t)block - hs_span) >> SLAB_SHIFT;
    size_t row = ((const uint8_t *)hs_span - SLAB_CLASSES_BYTES)[slab];
    push(row, block);
}

/* For the runtime: blocks of the quarantine, of a list of remote frees, or of a thread that had no heap before. */
void hs_free_small(void *block)
{
    free_small(block);
}

/* Hit path: 8 loads, 2 stores, 2 branches. */
void free(void *block)
{
    if (!in_slab_span(block)) {
        hs_free_large(block);
        return;
    }
    free_small(block);
}

#ifndef HEAPSMITH_ARCHIVE
/* C++'s operator new: the compiler puts malloc into it. */
__attribute__((flatten)) void *new_plain(size_t bytes)
{
    void *block = malloc(bytes);
    if (block == NULL)
        return new_elsewhere(bytes);
    return block;
}
#endif
