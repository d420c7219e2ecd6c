/* Freed blocks of a slab: kept by a bitmap, the lowest index first, unless the design has another kind. The functions do not
 * count: slab->freed and slab->out are the store's. */
#pragma once

#include "block_index/block_index.h"
#include "slab_numbers.h"
#include "span.h"

#include <string.h>

#ifdef FREED_LIST
#include "freed_blocks/list.h"
#else
/* What a give needs of the slab besides its record. */
struct freed_place {
    uint64_t *words;
    uint64_t by;
    uintptr_t first; /* the address of its first block */
};

static inline struct freed_place freed_place(struct slab *slab, unsigned class)
{
    return (struct freed_place){ marks_of(slab), slab_index_by(slab, class), (uintptr_t)slab_start(slab) + hs_class[class].first };
}

static inline void freed_give(struct slab *slab, struct freed_place place, void *block)
{
    (void)slab;
    size_t index = block_index((uintptr_t)block - place.first, place.by);
    uint64_t bit = UINT64_C(1) << (index % 64);
    check((place.words[index / 64] & bit) == 0, "a given block was out");
    place.words[index / 64] |= bit;
}

/* `want` of them, at most slab->freed. */
static inline void freed_take(struct slab *slab, unsigned class, void **blocks, uint32_t want)
{
    const size_t stride = slab_stride(slab, class);
    char *first = slab_start(slab) + hs_class[class].first;
    uint64_t *words = marks_of(slab);
    uint32_t taken = 0;
    for (size_t word = 0; taken < want; word++) {
        uint64_t left = words[word];
        if (left == 0)
            continue;
        for (; left != 0 && taken < want; left &= left - 1)
            blocks[taken++] = first + (word * 64 + (size_t)__builtin_ctzll(left)) * stride;
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
#endif
