/* malloc and free for sizes that the compiler knows, inlined into the program: docs/api.md.
 *
 * Emitted by heapsmith 0.1.0 from design "perl", content hash 05c1618c1136.
 * Do not edit: change the design, then run: heapsmith generate perl -o DIR
 */
#ifndef HEAPSMITH_H
#define HEAPSMITH_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The calling thread's array stacks, by row: 1 + size class. All are empty and full in a thread that has no heap yet,
 * in the checked build, and where another malloc serves the program: then malloc and free are called. */
struct hs_rows {
    void **top[1 + 33];
    void **end[1 + 33];
    uintptr_t span; /* the start of the bytes in which all small blocks lie */
    size_t span_bytes;
};
extern __thread struct hs_rows *hs_heap_05c1618c1136_1585fd __attribute__((tls_model("initial-exec")));

/* Compilers hold that malloc and free touch no memory that a program sees, and would read a stack before a call that
 * changes it. */
static inline __attribute__((always_inline)) void hs_fence(void)
{
    __asm__ volatile("" : : : "memory");
}

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

static inline __attribute__((always_inline)) void *hs_pop(size_t row, size_t bytes)
{
    struct hs_rows *heap = hs_heap_05c1618c1136_1585fd;
    void *block = heap->top[row][-1];
    if (block == NULL) /* empty, or no heap */
        return malloc(bytes);
    return hs_stack_popped(&heap->top[row], block);
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

/* What is no small block begins where a page begins, NULL too, and is free()'s: a run may serve a small request. */
static inline __attribute__((always_inline)) void hs_push(size_t row, void *block)
{
    struct hs_rows *heap = hs_heap_05c1618c1136_1585fd;
    uintptr_t place = (uintptr_t)block;
    if (__builtin_expect(place % 4096 == 0, 0) && place - heap->span >= heap->span_bytes) {
        free(block);
        return;
    }
    void **top = heap->top[row];
    if (top == heap->end[row]) { /* full or not open, or no heap */
        free(block);
        return;
    }
    *top = block;
    hs_stack_pushed(&heap->top[row]);
}

/* The row of a request's class; 0 if that has no array stack. Constants in, a constant out. */
static inline __attribute__((always_inline)) size_t hs_row_of(size_t bytes)
{
    return bytes <= 16 ? 1
         : bytes <= 32 ? 2
         : bytes <= 48 ? 3
         : bytes <= 64 ? 4
         : bytes <= 80 ? 5
         : bytes <= 96 ? 6
         : bytes <= 128 ? 7
         : bytes <= 144 ? 8
         : bytes <= 176 ? 9
         : bytes <= 224 ? 10
         : bytes <= 256 ? 11
         : bytes <= 272 ? 12
         : bytes <= 384 ? 13
         : bytes <= 512 ? 14
         : bytes <= 560 ? 15
         : bytes <= 752 ? 16
         : bytes <= 1024 ? 17
         : bytes <= 1168 ? 18
         : bytes <= 1568 ? 19
         : bytes <= 2112 ? 20
         : bytes <= 2720 ? 21
         : bytes <= 3632 ? 22
         : bytes <= 4096 ? 23
         : bytes <= 4672 ? 24
         : bytes <= 5456 ? 25
         : bytes <= 7168 ? 26
         : bytes <= 9552 ? 27
         : bytes <= 12288 ? 28
         : bytes <= 16384 ? 29
         : bytes <= 20480 ? 30
         : bytes <= 24576 ? 31
         : bytes <= 28672 ? 32
         : bytes <= 32768 ? 33
         : 0;
}

/* As malloc; of a size that the compiler knows, without a call. */
static inline __attribute__((always_inline)) void *hs_malloc(size_t bytes)
{
    size_t row = __builtin_constant_p(bytes) ? hs_row_of(bytes) : 0;
    if (row != 0) {
        hs_fence();
        void *block = hs_pop(row, bytes);
        hs_fence();
        return block;
    }
    return malloc(bytes);
}

/* As free, of a block from malloc, calloc or the functions here for a request of the same size class: not of one that
 * realloc returned, nor of an aligned one. */
static inline __attribute__((always_inline)) void hs_free_sized(void *block, size_t bytes)
{
    size_t row = __builtin_constant_p(bytes) ? hs_row_of(bytes) : 0;
    if (row != 0) {
        hs_fence();
        hs_push(row, block);
        hs_fence();
    } else {
        free(block);
    }
}

/* By size class: a block of the class's bytes, NULL with ENOMEM without memory; and its end, as hs_free_sized.
 * Hit path: alloc 5 loads, 1 store, 1 branch;
 * free 5 loads, 2 stores, 2 branches; where a page begins 7 loads, 2 stores, 3 branches. */
static inline void *hs_alloc_16(void) { return hs_malloc(16); }
static inline void hs_free_16(void *block) { hs_free_sized(block, 16); }
static inline void *hs_alloc_32(void) { return hs_malloc(32); }
static inline void hs_free_32(void *block) { hs_free_sized(block, 32); }
static inline void *hs_alloc_48(void) { return hs_malloc(48); }
static inline void hs_free_48(void *block) { hs_free_sized(block, 48); }
static inline void *hs_alloc_64(void) { return hs_malloc(64); }
static inline void hs_free_64(void *block) { hs_free_sized(block, 64); }
static inline void *hs_alloc_80(void) { return hs_malloc(80); }
static inline void hs_free_80(void *block) { hs_free_sized(block, 80); }
static inline void *hs_alloc_96(void) { return hs_malloc(96); }
static inline void hs_free_96(void *block) { hs_free_sized(block, 96); }
static inline void *hs_alloc_128(void) { return hs_malloc(128); }
static inline void hs_free_128(void *block) { hs_free_sized(block, 128); }
static inline void *hs_alloc_144(void) { return hs_malloc(144); }
static inline void hs_free_144(void *block) { hs_free_sized(block, 144); }
static inline void *hs_alloc_176(void) { return hs_malloc(176); }
static inline void hs_free_176(void *block) { hs_free_sized(block, 176); }
static inline void *hs_alloc_224(void) { return hs_malloc(224); }
static inline void hs_free_224(void *block) { hs_free_sized(block, 224); }
static inline void *hs_alloc_256(void) { return hs_malloc(256); }
static inline void hs_free_256(void *block) { hs_free_sized(block, 256); }
static inline void *hs_alloc_272(void) { return hs_malloc(272); }
static inline void hs_free_272(void *block) { hs_free_sized(block, 272); }
static inline void *hs_alloc_384(void) { return hs_malloc(384); }
static inline void hs_free_384(void *block) { hs_free_sized(block, 384); }
static inline void *hs_alloc_512(void) { return hs_malloc(512); }
static inline void hs_free_512(void *block) { hs_free_sized(block, 512); }
static inline void *hs_alloc_560(void) { return hs_malloc(560); }
static inline void hs_free_560(void *block) { hs_free_sized(block, 560); }
static inline void *hs_alloc_752(void) { return hs_malloc(752); }
static inline void hs_free_752(void *block) { hs_free_sized(block, 752); }
static inline void *hs_alloc_1024(void) { return hs_malloc(1024); }
static inline void hs_free_1024(void *block) { hs_free_sized(block, 1024); }
static inline void *hs_alloc_1168(void) { return hs_malloc(1168); }
static inline void hs_free_1168(void *block) { hs_free_sized(block, 1168); }
static inline void *hs_alloc_1568(void) { return hs_malloc(1568); }
static inline void hs_free_1568(void *block) { hs_free_sized(block, 1568); }
static inline void *hs_alloc_2112(void) { return hs_malloc(2112); }
static inline void hs_free_2112(void *block) { hs_free_sized(block, 2112); }
static inline void *hs_alloc_2720(void) { return hs_malloc(2720); }
static inline void hs_free_2720(void *block) { hs_free_sized(block, 2720); }
static inline void *hs_alloc_3632(void) { return hs_malloc(3632); }
static inline void hs_free_3632(void *block) { hs_free_sized(block, 3632); }
static inline void *hs_alloc_4096(void) { return hs_malloc(4096); }
static inline void hs_free_4096(void *block) { hs_free_sized(block, 4096); }
static inline void *hs_alloc_4672(void) { return hs_malloc(4672); }
static inline void hs_free_4672(void *block) { hs_free_sized(block, 4672); }
static inline void *hs_alloc_5456(void) { return hs_malloc(5456); }
static inline void hs_free_5456(void *block) { hs_free_sized(block, 5456); }
static inline void *hs_alloc_7168(void) { return hs_malloc(7168); }
static inline void hs_free_7168(void *block) { hs_free_sized(block, 7168); }
static inline void *hs_alloc_9552(void) { return hs_malloc(9552); }
static inline void hs_free_9552(void *block) { hs_free_sized(block, 9552); }
static inline void *hs_alloc_12288(void) { return hs_malloc(12288); }
static inline void hs_free_12288(void *block) { hs_free_sized(block, 12288); }
static inline void *hs_alloc_16384(void) { return hs_malloc(16384); }
static inline void hs_free_16384(void *block) { hs_free_sized(block, 16384); }
static inline void *hs_alloc_20480(void) { return hs_malloc(20480); }
static inline void hs_free_20480(void *block) { hs_free_sized(block, 20480); }
static inline void *hs_alloc_24576(void) { return hs_malloc(24576); }
static inline void hs_free_24576(void *block) { hs_free_sized(block, 24576); }
static inline void *hs_alloc_28672(void) { return hs_malloc(28672); }
static inline void hs_free_28672(void *block) { hs_free_sized(block, 28672); }
static inline void *hs_alloc_32768(void) { return hs_malloc(32768); }
static inline void hs_free_32768(void *block) { hs_free_sized(block, 32768); }

#ifdef __cplusplus
}

#ifdef __cpp_exceptions
#include <cstddef>
#include <new>

namespace hs {

/* For containers: single objects, such as the nodes of maps and lists, have a size that the compiler knows. */
template <class T> struct allocator {
    static_assert(alignof(T) <= alignof(std::max_align_t), "hs::allocator: no over-aligned types");
    using value_type = T;

    allocator() = default;
    template <class U> allocator(const allocator<U> &) noexcept {}

    T *allocate(std::size_t count)
    {
        if (count > PTRDIFF_MAX / sizeof(T))
            throw std::bad_array_new_length();
        void *block = count == 1 ? hs_malloc(sizeof(T)) : malloc(count * sizeof(T));
        if (block == nullptr)
            throw std::bad_alloc();
        return static_cast<T *>(block);
    }

    void deallocate(T *block, std::size_t count) noexcept
    {
        if (count == 1)
            hs_free_sized(block, sizeof(T));
        else
            free(block);
    }
};

template <class T, class U> bool operator==(const allocator<T> &, const allocator<U> &) noexcept { return true; }
template <class T, class U> bool operator!=(const allocator<T> &, const allocator<U> &) noexcept { return false; }

}
#endif
#elif defined(HS_REPLACE_MALLOC) /* asked for, C only: the program's own calls of malloc are calls of hs_malloc */
#include <malloc.h>
#define malloc(bytes) hs_malloc(bytes)
#endif

#endif
