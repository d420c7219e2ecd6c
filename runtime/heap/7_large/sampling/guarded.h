/* Guarded samples (docs/machine-rooms.md, 'sampling'): blocks that end at a page without access, and have none after their free.
 *
 * Their slots change under a lock of their own, numbered, under which nobody takes another; the handler of faults reads them
 * without it. */
#pragma once

#include "7_large/sampling/guarded_slots.h"

/* NULL: not guarded. It reads as zero. stack: of the request. */
COLD void *guarded_alloc(size_t bytes, size_t alignment, const struct call_stack *stack);
/* What is no start of a live guarded block ends the program, if it lies in the slots. */
COLD bool guarded_free(void *block); /* false: it does not */
COLD size_t guarded_bytes(const void *block); /* 0: it does not */
COLD int64_t guarded_number(const void *block); /* the slot of a live block; -1: it is none */
COLD void guarded_census(size_t *bytes, size_t *blocks); /* adds those of live blocks, in whole pages */
COLD bool guarded_set_sample(const void *block, bool is); /* false: no live block, or it was so already */
COLD uint8_t guarded_mark(const void *block);
COLD void guarded_set_mark(const void *block, uint8_t mark);
/* The lock. Who takes the pool lock too takes this one first. */
COLD void guarded_enter(void);
COLD void guarded_leave(void);
COLD size_t guarded_vacate(void); /* address space without a block goes, under all locks; bytes */
COLD void guarded_reset(void); /* checked build */

#define GUARDED_VIEW                                     \
    ADDRESS("guarded", hs_guarded)                       \
    NUMBER("SAMPLE_GUARDS", SAMPLE_GUARDS)               \
    NUMBER("guarded_slot", sizeof(struct guarded_slot))  \
    FIELD(guarded_slot, block)                           \
    FIELD(guarded_slot, bytes)                           \
    FIELD(guarded_slot, state)                           \
    NUMBER("GUARDED_LIVE", GUARDED_LIVE)
