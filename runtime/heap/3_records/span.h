/* The slab span: its slabs, their records and their marks. */
#pragma once

#include "1_base/check.h"
#include "3_records/heap.h"
#include "3_records/slab_record/slab_record.h"

enum { NO_SPAN = UINTPTR_MAX - SLAB_SPAN_BYTES + 1 }; /* no program has an address so high: every pointer is outside */

/* What the heap keeps for each heap of a thread, and for each slab in use: records, marks, class map and live map. */
enum {
    HEAP_RECORD_BYTES = sizeof(struct heap) + SLOT_COUNT * sizeof(void *),
    SLAB_RECORD_BYTES = sizeof(struct slab) + BITMAP_WORDS * sizeof(uint64_t) + CLASS_MAP_BYTES + LIVE_MAP * SLAB_BYTES / GRAIN,
};

enum { HAS_HEADERS = (int)SIZE_BIAS > (int)TAIL_BYTES };

extern size_t hs_span_bytes; /* SLAB_SPAN_BYTES; 0 before */
extern uint64_t *hs_marks; /* BITMAP_WORDS per slab: bit i is set while block i is freed */
extern uint8_t *hs_live;   /* LIVE_MAP: by offset in the span, in steps of GRAIN */

static inline bool in_slab_span(const void *block)
{
    return (uintptr_t)block - hs_span < hs_span_bytes;
}

static inline size_t slab_offset(const struct slab *slab)
{
    return slab_number(slab) << SLAB_SHIFT;
}

static inline char *slab_start(const struct slab *slab)
{
    return (char *)hs_span + slab_offset(slab);
}

/* Is a block of the slab? `start`: the address of the slab, or of its first block. */
static inline bool lies_in_slab(uintptr_t start, const void *block)
{
    return (uintptr_t)block - start < SLAB_BYTES;
}

enum { ROW_BYTES = SLAB_BYTES / CLASS_MAP_BYTES };

/* 1 + class of the blocks in ROW_BYTES of the span, 0 where no class lives, in a table that ends where the span begins. */
static inline uint8_t *slab_row(size_t place)
{
    return (uint8_t *)hs_span - SLAB_CLASSES_BYTES + place;
}

/* The class of the blocks there, by what lies outside them; CLASS_COUNT or more where the map says that none lives there. */
static inline unsigned hs_class_at(uintptr_t offset)
{
    return SLAB_CLASSES_BYTES > 0 ? *slab_row(offset / ROW_BYTES) - 1u : slab_record(offset >> SLAB_SHIFT)->class;
}

static inline uint64_t *marks_of(const struct slab *slab)
{
    return hs_marks + slab_number(slab) * BITMAP_WORDS;
}

static inline void hs_check_slab(const struct slab *slab)
{
    check(slab->out + slab->freed == slab->carved, "out + freed == carved");
    check(slab->carved <= hs_class[slab->class].blocks, "carved <= blocks");
}
