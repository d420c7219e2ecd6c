/* malloc and free for sizes that the compiler knows, inlined into the program: docs/api.md.
 *
 * Emitted by heapsmith 0.1.0 from design "default", content hash e72def72db02.
 * Do not edit: change the design, then run: heapsmith generate default -o DIR
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
    void **top[1 + 47];
    void **end[1 + 47];
    uintptr_t span; /* the start of the bytes in which all small blocks lie */
    size_t span_bytes;
};
extern __thread struct hs_rows *hs_heap_e72def72db02_2cca75 __attribute__((tls_model("initial-exec")));

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
    struct hs_rows *heap = hs_heap_e72def72db02_2cca75;
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
    struct hs_rows *heap = hs_heap_e72def72db02_2cca75;
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
         : bytes <= 112 ? 7
         : bytes <= 128 ? 8
         : bytes <= 144 ? 9
         : bytes <= 160 ? 10
         : bytes <= 176 ? 11
         : bytes <= 192 ? 12
         : bytes <= 208 ? 13
         : bytes <= 224 ? 14
         : bytes <= 240 ? 15
         : bytes <= 256 ? 16
         : bytes <= 288 ? 17
         : bytes <= 320 ? 18
         : bytes <= 352 ? 19
         : bytes <= 384 ? 20
         : bytes <= 416 ? 21
         : bytes <= 448 ? 22
         : bytes <= 480 ? 23
         : bytes <= 512 ? 24
         : bytes <= 640 ? 25
         : bytes <= 768 ? 26
         : bytes <= 896 ? 27
         : bytes <= 1040 ? 28
         : bytes <= 1152 ? 29
         : bytes <= 1344 ? 30
         : bytes <= 1600 ? 31
         : bytes <= 2048 ? 32
         : bytes <= 2304 ? 33
         : bytes <= 2688 ? 34
         : bytes <= 3264 ? 35
         : bytes <= 4096 ? 36
         : bytes <= 4368 ? 37
         : bytes <= 4992 ? 38
         : bytes <= 5952 ? 39
         : bytes <= 7232 ? 40
         : bytes <= 8192 ? 41
         : bytes <= 10240 ? 42
         : bytes <= 12288 ? 43
         : bytes <= 16384 ? 44
         : bytes <= 20480 ? 45
         : bytes <= 24576 ? 46
         : bytes <= 32768 ? 47
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
static inline void *hs_alloc_112(void) { return hs_malloc(112); }
static inline void hs_free_112(void *block) { hs_free_sized(block, 112); }
static inline void *hs_alloc_128(void) { return hs_malloc(128); }
static inline void hs_free_128(void *block) { hs_free_sized(block, 128); }
static inline void *hs_alloc_144(void) { return hs_malloc(144); }
static inline void hs_free_144(void *block) { hs_free_sized(block, 144); }
static inline void *hs_alloc_160(void) { return hs_malloc(160); }
static inline void hs_free_160(void *block) { hs_free_sized(block, 160); }
static inline void *hs_alloc_176(void) { return hs_malloc(176); }
static inline void hs_free_176(void *block) { hs_free_sized(block, 176); }
static inline void *hs_alloc_192(void) { return hs_malloc(192); }
static inline void hs_free_192(void *block) { hs_free_sized(block, 192); }
static inline void *hs_alloc_208(void) { return hs_malloc(208); }
static inline void hs_free_208(void *block) { hs_free_sized(block, 208); }
static inline void *hs_alloc_224(void) { return hs_malloc(224); }
static inline void hs_free_224(void *block) { hs_free_sized(block, 224); }
static inline void *hs_alloc_240(void) { return hs_malloc(240); }
static inline void hs_free_240(void *block) { hs_free_sized(block, 240); }
static inline void *hs_alloc_256(void) { return hs_malloc(256); }
static inline void hs_free_256(void *block) { hs_free_sized(block, 256); }
static inline void *hs_alloc_288(void) { return hs_malloc(288); }
static inline void hs_free_288(void *block) { hs_free_sized(block, 288); }
static inline void *hs_alloc_320(void) { return hs_malloc(320); }
static inline void hs_free_320(void *block) { hs_free_sized(block, 320); }
static inline void *hs_alloc_352(void) { return hs_malloc(352); }
static inline void hs_free_352(void *block) { hs_free_sized(block, 352); }
static inline void *hs_alloc_384(void) { return hs_malloc(384); }
static inline void hs_free_384(void *block) { hs_free_sized(block, 384); }
static inline void *hs_alloc_416(void) { return hs_malloc(416); }
static inline void hs_free_416(void *block) { hs_free_sized(block, 416); }
static inline void *hs_alloc_448(void) { return hs_malloc(448); }
static inline void hs_free_448(void *block) { hs_free_sized(block, 448); }
static inline void *hs_alloc_480(void) { return hs_malloc(480); }
static inline void hs_free_480(void *block) { hs_free_sized(block, 480); }
static inline void *hs_alloc_512(void) { return hs_malloc(512); }
static inline void hs_free_512(void *block) { hs_free_sized(block, 512); }
static inline void *hs_alloc_640(void) { return hs_malloc(640); }
static inline void hs_free_640(void *block) { hs_free_sized(block, 640); }
static inline void *hs_alloc_768(void) { return hs_malloc(768); }
static inline void hs_free_768(void *block) { hs_free_sized(block, 768); }
static inline void *hs_alloc_896(void) { return hs_malloc(896); }
static inline void hs_free_896(void *block) { hs_free_sized(block, 896); }
static inline void *hs_alloc_1040(void) { return hs_malloc(1040); }
static inline void hs_free_1040(void *block) { hs_free_sized(block, 1040); }
static inline void *hs_alloc_1152(void) { return hs_malloc(1152); }
static inline void hs_free_1152(void *block) { hs_free_sized(block, 1152); }
static inline void *hs_alloc_1344(void) { return hs_malloc(1344); }
static inline void hs_free_1344(void *block) { hs_free_sized(block, 1344); }
static inline void *hs_alloc_1600(void) { return hs_malloc(1600); }
static inline void hs_free_1600(void *block) { hs_free_sized(block, 1600); }
static inline void *hs_alloc_2048(void) { return hs_malloc(2048); }
static inline void hs_free_2048(void *block) { hs_free_sized(block, 2048); }
static inline void *hs_alloc_2304(void) { return hs_malloc(2304); }
static inline void hs_free_2304(void *block) { hs_free_sized(block, 2304); }
static inline void *hs_alloc_2688(void) { return hs_malloc(2688); }
static inline void hs_free_2688(void *block) { hs_free_sized(block, 2688); }
static inline void *hs_alloc_3264(void) { return hs_malloc(3264); }
static inline void hs_free_3264(void *block) { hs_free_sized(block, 3264); }
static inline void *hs_alloc_4096(void) { return hs_malloc(4096); }
static inline void hs_free_4096(void *block) { hs_free_sized(block, 4096); }
static inline void *hs_alloc_4368(void) { return hs_malloc(4368); }
static inline void hs_free_4368(void *block) { hs_free_sized(block, 4368); }
static inline void *hs_alloc_4992(void) { return hs_malloc(4992); }
static inline void hs_free_4992(void *block) { hs_free_sized(block, 4992); }
static inline void *hs_alloc_5952(void) { return hs_malloc(5952); }
static inline void hs_free_5952(void *block) { hs_free_sized(block, 5952); }
static inline void *hs_alloc_7232(void) { return hs_malloc(7232); }
static inline void hs_free_7232(void *block) { hs_free_sized(block, 7232); }
static inline void *hs_alloc_8192(void) { return hs_malloc(8192); }
static inline void hs_free_8192(void *block) { hs_free_sized(block, 8192); }
static inline void *hs_alloc_10240(void) { return hs_malloc(10240); }
static inline void hs_free_10240(void *block) { hs_free_sized(block, 10240); }
static inline void *hs_alloc_12288(void) { return hs_malloc(12288); }
static inline void hs_free_12288(void *block) { hs_free_sized(block, 12288); }
static inline void *hs_alloc_16384(void) { return hs_malloc(16384); }
static inline void hs_free_16384(void *block) { hs_free_sized(block, 16384); }
static inline void *hs_alloc_20480(void) { return hs_malloc(20480); }
static inline void hs_free_20480(void *block) { hs_free_sized(block, 20480); }
static inline void *hs_alloc_24576(void) { return hs_malloc(24576); }
static inline void hs_free_24576(void *block) { hs_free_sized(block, 24576); }
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
