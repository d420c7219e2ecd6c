/* malloc for sizes that the compiler knows, inlined into the program, and calls of free by size: docs/header.md.
 *
 * Emitted by heapsmith 0.1.0 from design "owner", content hash dc44d90fd7fa.
 * Do not edit: change the design, then run: heapsmith generate owner -o DIR
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
    void **top[1 + 29];
    void **end[1 + 29];
    uintptr_t span; /* the start of the bytes in which all small blocks lie */
    size_t span_bytes;
};
extern __thread struct hs_rows *hs_heap_dc44d90fd7fa_231a80 __attribute__((tls_model("initial-exec")));

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
    __asm__("subq $8, %0" : "+m"(*top), "+a"(block) : : "cc");
    return block;
}

static inline __attribute__((always_inline)) void *hs_pop(size_t row, size_t bytes)
{
    struct hs_rows *heap = hs_heap_dc44d90fd7fa_231a80;
    void *block = heap->top[row][-1];
    if (block == NULL) /* empty, or no heap */
        return malloc(bytes);
    return hs_stack_popped(&heap->top[row], block);
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
         : bytes <= 160 ? 9
         : bytes <= 192 ? 10
         : bytes <= 224 ? 11
         : bytes <= 256 ? 12
         : bytes <= 320 ? 13
         : bytes <= 384 ? 14
         : bytes <= 448 ? 15
         : bytes <= 512 ? 16
         : bytes <= 640 ? 17
         : bytes <= 768 ? 18
         : bytes <= 896 ? 19
         : bytes <= 1024 ? 20
         : bytes <= 1280 ? 21
         : bytes <= 1536 ? 22
         : bytes <= 1792 ? 23
         : bytes <= 2048 ? 24
         : bytes <= 2720 ? 25
         : bytes <= 3264 ? 26
         : bytes <= 4096 ? 27
         : bytes <= 5456 ? 28
         : bytes <= 8192 ? 29
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
static inline void hs_free_sized(void *block, size_t bytes)
{
    (void)bytes;
    free(block);
}

/* By size class: a block of the class's bytes, NULL with ENOMEM without memory; and its end, as hs_free_sized.
 * Hit path: alloc 5 loads, 1 store, 1 branch;
 * free is a call. */
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
static inline void *hs_alloc_160(void) { return hs_malloc(160); }
static inline void hs_free_160(void *block) { hs_free_sized(block, 160); }
static inline void *hs_alloc_192(void) { return hs_malloc(192); }
static inline void hs_free_192(void *block) { hs_free_sized(block, 192); }
static inline void *hs_alloc_224(void) { return hs_malloc(224); }
static inline void hs_free_224(void *block) { hs_free_sized(block, 224); }
static inline void *hs_alloc_256(void) { return hs_malloc(256); }
static inline void hs_free_256(void *block) { hs_free_sized(block, 256); }
static inline void *hs_alloc_320(void) { return hs_malloc(320); }
static inline void hs_free_320(void *block) { hs_free_sized(block, 320); }
static inline void *hs_alloc_384(void) { return hs_malloc(384); }
static inline void hs_free_384(void *block) { hs_free_sized(block, 384); }
static inline void *hs_alloc_448(void) { return hs_malloc(448); }
static inline void hs_free_448(void *block) { hs_free_sized(block, 448); }
static inline void *hs_alloc_512(void) { return hs_malloc(512); }
static inline void hs_free_512(void *block) { hs_free_sized(block, 512); }
static inline void *hs_alloc_640(void) { return hs_malloc(640); }
static inline void hs_free_640(void *block) { hs_free_sized(block, 640); }
static inline void *hs_alloc_768(void) { return hs_malloc(768); }
static inline void hs_free_768(void *block) { hs_free_sized(block, 768); }
static inline void *hs_alloc_896(void) { return hs_malloc(896); }
static inline void hs_free_896(void *block) { hs_free_sized(block, 896); }
static inline void *hs_alloc_1024(void) { return hs_malloc(1024); }
static inline void hs_free_1024(void *block) { hs_free_sized(block, 1024); }
static inline void *hs_alloc_1280(void) { return hs_malloc(1280); }
static inline void hs_free_1280(void *block) { hs_free_sized(block, 1280); }
static inline void *hs_alloc_1536(void) { return hs_malloc(1536); }
static inline void hs_free_1536(void *block) { hs_free_sized(block, 1536); }
static inline void *hs_alloc_1792(void) { return hs_malloc(1792); }
static inline void hs_free_1792(void *block) { hs_free_sized(block, 1792); }
static inline void *hs_alloc_2048(void) { return hs_malloc(2048); }
static inline void hs_free_2048(void *block) { hs_free_sized(block, 2048); }
static inline void *hs_alloc_2720(void) { return hs_malloc(2720); }
static inline void hs_free_2720(void *block) { hs_free_sized(block, 2720); }
static inline void *hs_alloc_3264(void) { return hs_malloc(3264); }
static inline void hs_free_3264(void *block) { hs_free_sized(block, 3264); }
static inline void *hs_alloc_4096(void) { return hs_malloc(4096); }
static inline void hs_free_4096(void *block) { hs_free_sized(block, 4096); }
static inline void *hs_alloc_5456(void) { return hs_malloc(5456); }
static inline void hs_free_5456(void *block) { hs_free_sized(block, 5456); }
static inline void *hs_alloc_8192(void) { return hs_malloc(8192); }
static inline void hs_free_8192(void *block) { hs_free_sized(block, 8192); }

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
