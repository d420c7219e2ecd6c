/* The slots of guarded samples (guarded.h), and the table of what is known of each slot's last block.
 *
 * A slot is address space: SAMPLE_GUARD_BYTES for a block, of which the last pages are accessible while it lives, and a page. */
#pragma once

#include "1_base/call_stack.h"
#include "1_base/cold.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum guarded_state {
    GUARDED_NEVER, /* the slot had no block yet */
    GUARDED_LIVE,
    GUARDED_FREED,
};

struct guarded_slot {
    uintptr_t block;
    size_t bytes; /* that the program asked for */
    struct call_stack allocated, freed;
    uint32_t allocated_by, freed_by; /* gettid(2) */
    uint32_t next; /* GUARDED_FREED: 1 + the slot whose block was freed next; 0: none */
    uint8_t state; /* the last block's, atomic */
    uint8_t mark; /* as of huge blocks */
    bool sampled;
};

extern struct guarded_slot hs_guarded[];
extern uintptr_t hs_guarded_start;
extern size_t hs_guarded_bytes; /* 0 before the library has started */

static inline bool guarded_holds(const void *address)
{
    return (uintptr_t)address - hs_guarded_start < hs_guarded_bytes;
}

COLD size_t guarded_space(void);
COLD void guarded_init(void);

/* The slot that an address of the slots belongs to, and where the pages of its blocks end. */
COLD struct guarded_slot *guarded_at(uintptr_t address);
COLD uintptr_t guarded_end(const struct guarded_slot *slot);
/* The slot whose block is meant by a wrong address of the slots: the nearest. */
COLD struct guarded_slot *guarded_meant(uintptr_t address);
