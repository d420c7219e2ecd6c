/* Calls of malloc and free by size, without a hit path inlined into the program: docs/api.md.
 *
 * Emitted by heapsmith 0.1.0 from design "lean", content hash f18ad4c2b357.
 * Do not edit: change the design, then run: heapsmith generate lean -o DIR
 */
#ifndef HEAPSMITH_H
#define HEAPSMITH_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

/* This design inlines nothing: no class has an array stack, or calls are checked or counted (hardening, sampling). */
static inline void *hs_malloc(size_t bytes)
{
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
 * No hit path: calls of malloc and free. */
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
static inline void *hs_alloc_368(void) { return hs_malloc(368); }
static inline void hs_free_368(void *block) { hs_free_sized(block, 368); }
static inline void *hs_alloc_400(void) { return hs_malloc(400); }
static inline void hs_free_400(void *block) { hs_free_sized(block, 400); }
static inline void *hs_alloc_448(void) { return hs_malloc(448); }
static inline void hs_free_448(void *block) { hs_free_sized(block, 448); }
static inline void *hs_alloc_512(void) { return hs_malloc(512); }
static inline void hs_free_512(void *block) { hs_free_sized(block, 512); }
static inline void *hs_alloc_576(void) { return hs_malloc(576); }
static inline void hs_free_576(void *block) { hs_free_sized(block, 576); }
static inline void *hs_alloc_672(void) { return hs_malloc(672); }
static inline void hs_free_672(void *block) { hs_free_sized(block, 672); }
static inline void *hs_alloc_800(void) { return hs_malloc(800); }
static inline void hs_free_800(void *block) { hs_free_sized(block, 800); }
static inline void *hs_alloc_1008(void) { return hs_malloc(1008); }
static inline void hs_free_1008(void *block) { hs_free_sized(block, 1008); }
static inline void *hs_alloc_1360(void) { return hs_malloc(1360); }
static inline void hs_free_1360(void *block) { hs_free_sized(block, 1360); }
static inline void *hs_alloc_2048(void) { return hs_malloc(2048); }
static inline void hs_free_2048(void *block) { hs_free_sized(block, 2048); }

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
