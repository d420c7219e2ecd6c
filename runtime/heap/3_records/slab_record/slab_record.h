/* The record of a slab: what it holds, and where it lies (docs/machine-rooms.md). */
#pragma once

#include "3_records/heap.h"

#include SLAB_RECORD_FIELDS

/* One slab of the span. out + freed == carved <= blocks; `freed` blocks are kept for takes (freed_blocks/), all below
 * `carved`. */
struct slab {
    _Alignas(RECORD_ALIGNMENT) struct slab_numbers numbers; /* of its class, as long as it has one */
    uint32_t carved;       /* blocks handed out at least once */
    uint32_t freed;        /* of these, blocks that came back */
    uint32_t out;          /* blocks in fronts, quarantines, the transfer cache, on remote lists, or with the program */
    uint32_t committed;    /* bytes touched since the slab was mapped or released */
    struct slab *next;     /* slab choice's list or heap, or the pool */
    union {
        struct slab *previous; /* slab choice's list or heap, which writes it first */
        uint64_t emptied;      /* age queue: when it was retired, on the clock of the release policy */
    };
    union {
        struct slab *child; /* slab choice's heap or mark */
        struct slab *above; /* the pool, where slabs leave it from the middle (unmapping/) */
    };
    union {
        struct slab *newer; /* age queue of empty slabs: the one retired after this */
        struct block *list; /* in no pool, where freed blocks are on a list: the block freed last */
    };
    struct slab *older;    /* age queue: the one retired before this; without a queue, the pool's link (pool/swaps.h) */
    union {
        struct heap *owner; /* the heap that acquired it where records tell whose slabs are, or NULL */
        size_t shard;       /* of the heap that acquired it, where shards are of heaps (shards/) */
    };
    struct slab *earlier;  /* the slab handed out before this one: every slab ever, under the pool lock */
    uint16_t class;
    bool pooled;           /* in a pool; under the pool lock */
    bool aging;            /* in the age queue */
    bool sealed : 1;       /* pooled: its pages are address space only (slabs_reclaim) */
    bool unmapped : 1;     /* not in use since its superslab was unmapped (unmapping/) */
    bool huge;             /* its superslab lies on huge pages */
    uint16_t unpooled;     /* of a superslab's first record: its slabs that are in no pool, unless it is unmapped (unmapping/) */
};

extern uintptr_t hs_span;     /* start of the slab span; NO_SPAN before it is reserved */
extern struct slab *hs_slabs; /* the table of records, parallel to the span, where they lie apart */

#include SLAB_RECORD_ROW
