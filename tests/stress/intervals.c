/* A bit per granule of 8 bytes (the least distance of two blocks) in a table of two levels over 47 bits of address.
 *
 * The bits are relaxed on purpose. An order made here would be one between the thread that frees a block and the one
 * that gets it next, and would hide from ThreadSanitizer that the allocator makes none. They are exact all the same:
 * each is changed by read-modify-write alone, and a block's bits leave before its free and come after its malloc. */
#define _GNU_SOURCE
#include "intervals.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
    GRANULE_SHIFT = 3,
    WORD_SHIFT = GRANULE_SHIFT + 6, /* 512 bytes of address space per 64-bit word */
    LEAF_SHIFT = 30,
    LEAVES = 1 << (47 - LEAF_SHIFT),
};
static const size_t LEAF_WORDS = (size_t)1 << (LEAF_SHIFT - WORD_SHIFT);

typedef _Atomic(uint64_t) word;

static _Atomic(word *) leaf[LEAVES]; /* written once each, by whoever comes first */

static word *leaf_of(uintptr_t address)
{
    _Atomic(word *) *place = &leaf[address >> LEAF_SHIFT];
    word *found = atomic_load_explicit(place, memory_order_acquire);
    if (found != NULL)
        return found;
    size_t bytes = LEAF_WORDS * sizeof *found;
    word *fresh = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (fresh == MAP_FAILED) {
        fprintf(stderr, "stress: no memory for the interval set\n");
        exit(2);
    }
    if (atomic_compare_exchange_strong_explicit(place, &found, fresh, memory_order_acq_rel, memory_order_acquire))
        return fresh;
    munmap(fresh, bytes);
    return found;
}

/* The granules [first, last] that lie in the word of `first`. */
static uint64_t mask_of(uintptr_t first, uintptr_t last)
{
    uint64_t from_first = ~UINT64_C(0) << (first & 63);
    return first >> 6 == last >> 6 ? from_first & ~UINT64_C(0) >> (63 - (last & 63)) : from_first;
}

/* Sets or clears all granules of the bytes; 0, or the address of the first one that was not as expected. */
static uintptr_t change(const void *start, size_t bytes, int set)
{
    uintptr_t granule = (uintptr_t)start >> GRANULE_SHIFT;
    uintptr_t last = ((uintptr_t)start + bytes - 1) >> GRANULE_SHIFT;
    while (granule <= last) {
        uintptr_t address = granule << GRANULE_SHIFT;
        word *bits = &leaf_of(address)[(address >> WORD_SHIFT) & (LEAF_WORDS - 1)];
        uint64_t mask = mask_of(granule, last);
        uint64_t before = set ? atomic_fetch_or_explicit(bits, mask, memory_order_relaxed)
                              : ~atomic_fetch_and_explicit(bits, ~mask, memory_order_relaxed);
        if ((before & mask) != 0)
            return ((granule & ~(uintptr_t)63) + (uintptr_t)__builtin_ctzll(before & mask)) << GRANULE_SHIFT;
        granule = (granule | 63) + 1;
    }
    return 0;
}

uintptr_t claim(const void *start, size_t bytes)
{
    return bytes == 0 ? 0 : change(start, bytes, 1);
}

uintptr_t disclaim(const void *start, size_t bytes)
{
    return bytes == 0 ? 0 : change(start, bytes, 0);
}
