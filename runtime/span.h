/* The slab span: its slabs, their records and their marks. */
#pragma once

#include "check.h"
#include "heap.h"

/* One slab of the span; the table is out of line and parallel to the span.
 * out + freed == carved <= blocks; `freed` blocks are kept for takes (freed_blocks/), all below `carved`. */
struct slab {
    uint32_t carved;       /* blocks handed out at least once */
    uint32_t freed;        /* of these, blocks that came back */
    uint32_t out;          /* blocks in fronts, quarantines, the transfer cache, on remote lists, or with the program */
    uint32_t committed;    /* bytes touched since the slab was mapped or released */
    struct slab *next;     /* slab choice's list or heap, or the pool */
    union {
        struct slab *previous; /* slab choice's list or heap, which writes it first */
        uint64_t emptied;      /* age queue: when it was retired, on the clock of the release policy */
    };
    struct slab *child;    /* slab choice's heap or mark */
    union {
        struct slab *newer; /* age queue of empty slabs: the one retired after this */
        struct block *list; /* in no pool, where freed blocks are on a list: the block freed last */
    };
    struct slab *older;    /* age queue: the one retired before this */
    struct heap *owner;    /* the heap that acquired it where heaps own slabs, or NULL */
    struct slab *earlier;  /* the slab handed out before this one: every slab ever, under the pool lock */
    uint16_t class;
    bool pooled;           /* in a pool; under the pool lock */
    bool aging;            /* in the age queue */
    bool sealed;           /* pooled, and its pages are address space only (slabs_reclaim) */
    bool huge;             /* its superslab lies on huge pages */
};

enum { NO_SPAN = UINTPTR_MAX - SLAB_SPAN_BYTES + 1 }; /* no program has an address so high: every pointer is outside */

extern uintptr_t hs_span;    /* its start; NO_SPAN before it is reserved */
extern size_t hs_span_bytes; /* SLAB_SPAN_BYTES; 0 before */
extern struct slab *hs_slabs;
extern uint64_t *hs_marks; /* BITMAP_WORDS per slab: bit i is set while block i is freed */
extern uint8_t *hs_live;   /* LIVE_MAP: by offset in the span, in steps of GRAIN */

static inline bool in_slab_span(const void *block)
{
    return (uintptr_t)block - hs_span < hs_span_bytes;
}

static inline struct slab *slab_of(const void *block)
{
    return hs_slabs + (((uintptr_t)block - hs_span) >> SLAB_SHIFT);
}

static inline size_t slab_offset(const struct slab *slab)
{
    return (size_t)(slab - hs_slabs) << SLAB_SHIFT;
}

static inline char *slab_start(const struct slab *slab)
{
    return (char *)hs_span + slab_offset(slab);
}

/* 1 + class of a slab, 0 where no class lives, in a table that ends where the span begins. */
static inline uint8_t *slab_row(size_t slab)
{
    return (uint8_t *)hs_span - SLAB_CLASSES_BYTES + slab;
}

static inline uint64_t *marks_of(const struct slab *slab)
{
    return hs_marks + (size_t)(slab - hs_slabs) * BITMAP_WORDS;
}

static inline void hs_check_slab(const struct slab *slab)
{
    check(slab->out + slab->freed == slab->carved, "out + freed == carved");
    check(slab->carved <= hs_class[slab->class].blocks, "carved <= blocks");
}

static inline bool slab_available(const struct slab *slab)
{
    return slab->freed > 0 || slab->carved < hs_class[slab->class].blocks;
}
