/* Freed blocks "bitmap": a mark each, beside the records; the lowest index first. */
#pragma once

#include "1_base/bound.h"
#include "1_base/crash/crash.h"
#include "3_records/span.h"
#include "4_blocks/block_index/block_index.h"
#include "4_blocks/hardening/given.h"
#include "4_blocks/hardening/hardening.h"
#include "4_blocks/slab_numbers.h"

#include <string.h>

enum { FREED_SERVE = 1 }; /* a take may have them */

#define FREED_VIEW ADDRESS("marks", hs_marks) NUMBER("BITMAP_WORDS", BITMAP_WORDS)

/* What a give needs of the slab besides its record. */
struct freed_place {
    uint64_t *words;
    uint64_t by;
    uintptr_t first; /* the address of its first block */
    uint32_t stride, carved; /* for a look at the block: CHECK_GIVEN */
};

static inline struct freed_place freed_place(struct slab *slab, unsigned class)
{
    uint32_t stride = CHECK_GIVEN ? slab_stride(slab, class) : 0, carved = CHECK_GIVEN ? slab->carved : 0;
    uintptr_t first = (uintptr_t)slab_start(slab) + hs_class[class].first;
    return (struct freed_place){ marks_of(slab), slab_index_by(slab, class), first, stride, carved };
}

static inline size_t freed_index(struct freed_place place, const void *block)
{
    return block_index((uintptr_t)block - place.first, place.by);
}

static inline bool freed_begins(struct freed_place place, size_t index, const void *block)
{
    return given_begins(index, (uintptr_t)block - place.first, place.stride, place.carved);
}

/* CHECK_GIVEN: why the program cannot use the block; NULL: it can. */
static inline const char *freed_fault(struct slab *slab, unsigned class, const void *block)
{
    const struct freed_place place = freed_place(slab, class);
    size_t index = freed_index(place, block);
    if (!freed_begins(place, index, block))
        return NOT_A_START;
    return (place.words[index / 64] >> index % 64 & 1) != 0 ? "use of a freed block" : NULL;
}

static inline void freed_mark(struct freed_place place, size_t word, uint64_t marks)
{
    check((place.words[word] & marks) == 0, "a given block was out");
    /* One instruction reads and writes the word. The compiler would read it first, and a new page takes two faults then: see
     * struct heap. */
    __asm__("" : "+r"(marks));
    place.words[word] |= marks;
}

static inline void freed_give_one(struct freed_place place, const void *block)
{
    size_t index = freed_index(place, block);
    uint64_t mark = UINT64_C(1) << index % 64;
    if (CHECK_GIVEN && !freed_begins(place, index, block))
        hs_misuse(NOT_A_START, block);
    if (CHECK_GIVEN && (place.words[index / 64] & mark) != 0)
        hs_misuse("double free", block);
    crash_given(block, CRASH_NAMED && (place.words[index / 64] & mark) != 0);
    freed_mark(place, index / 64, mark);
}

/* Are the next four of the slab? One branch. */
static inline bool freed_inside(struct freed_place place, void *const *blocks)
{
    uintptr_t first = (uintptr_t)blocks[0] - place.first, second = (uintptr_t)blocks[1] - place.first;
    uintptr_t third = (uintptr_t)blocks[2] - place.first, fourth = (uintptr_t)blocks[3] - place.first;
    return (first | second | third | fourth) < SLAB_BYTES;
}

/* Blocks that come back together are often neighbours, and each write of a word waits for the write before it: so the marks of
 * four are one write, if one word has them. */
static inline bool freed_give_four(struct freed_place place, void *const *blocks)
{
    size_t first = freed_index(place, blocks[0]), second = freed_index(place, blocks[1]);
    size_t third = freed_index(place, blocks[2]), fourth = freed_index(place, blocks[3]);
    if (((first ^ second) | (first ^ third) | (first ^ fourth)) >= 64)
        return false;
    if (CHECK_GIVEN && (!freed_begins(place, first, blocks[0]) || !freed_begins(place, second, blocks[1]) ||
                        !freed_begins(place, third, blocks[2]) || !freed_begins(place, fourth, blocks[3])))
        return false; /* each by itself: one is no block */
    uint64_t marks = UINT64_C(1) << first % 64 | UINT64_C(1) << second % 64;
    uint64_t others = UINT64_C(1) << third % 64 | UINT64_C(1) << fourth % 64;
    uint64_t twice = (place.words[first / 64] & (marks | others)) | (marks & others);
    if ((CRASH_NAMED || CHECK_GIVEN) && (twice != 0 || first == second || third == fourth))
        return false; /* each by itself: one has come back before */
    marks |= others;
    check(__builtin_popcountll(marks) == 4, "four blocks are given");
    freed_mark(place, first / 64, marks);
    return true;
}

/* Blocks of the slab, the first of `blocks`, come back. Returns their number. */
static inline uint32_t freed_give(struct slab *slab, struct freed_place place, void *const *blocks, uint32_t count)
{
    (void)slab;
    uint32_t given = 0, end = 0;
    ROUNDS(given_together);
    while (count - given >= 4 && freed_inside(place, blocks + given)) {
        BOUND(given_together, MOST_GIVEN / 4);
        end = given + 4;
        if (freed_give_four(place, blocks + given))
            given = end;
        ROUNDS(given_apart);
        for (; given < end; given++) {
            BOUND(given_apart, 4);
            freed_give_one(place, blocks[given]);
        }
    }
    ROUNDS(given_to_slab);
    for (; given < count && (given == 0 || lies_in_slab(place.first, blocks[given])); given++) {
        BOUND(given_to_slab, MOST_GIVEN);
        freed_give_one(place, blocks[given]);
    }
    return given;
}

/* `want` of them, at most slab->freed, to the places before `end`: the first to the last place. */
static inline void freed_take(struct slab *slab, unsigned class, void **end, uint32_t want)
{
    const size_t stride = slab_stride(slab, class);
    char *first = slab_start(slab) + hs_class[class].first;
    uint64_t *words = marks_of(slab);
    void **last = end - want;
    for (size_t word = 0; end > last; word++) {
        uint64_t left = words[word];
        if (left == 0)
            continue;
        for (; left != 0 && end > last; left &= left - 1)
            *--end = first + (word * 64 + (size_t)__builtin_ctzll(left)) * stride;
        words[word] = left;
    }
}

static inline void freed_begin(struct slab *slab)
{
    (void)slab;
}

/* The slab is retired, with all its blocks freed. */
static inline void freed_end(struct slab *slab)
{
    memset(marks_of(slab), 0, BITMAP_WORDS * sizeof *hs_marks);
}

/* How many there are, for checks. */
static inline uint32_t freed_found(const struct slab *slab)
{
    uint32_t set = 0;
    for (uint32_t word = 0; word < BITMAP_WORDS; word++)
        set += (uint32_t)__builtin_popcountll(marks_of(slab)[word]);
    return set;
}
