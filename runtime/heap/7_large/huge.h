/* Huge blocks: a mapping each, and the table that knows them (docs/machine.md, 'huge blocks'). All take the large lock
 * themselves; system calls on a mapping are made outside it, but for the one that moves it. */
#pragma once

#include "1_base/cold.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern const void *const hs_huge_table[2]; /* where the address of the table and the number of its slots are kept (view.c) */

COLD void *huge_alloc(size_t bytes, size_t alignment, bool *zero); /* NULL without memory. *zero: it reads as zero */
COLD void *huge_take_over(void *run, size_t run_pages, size_t bytes); /* a block longer than the run, with its pages: the run
                                                                       * has none then, and reads as zero; NULL: all as before */
COLD bool huge_free(void *block);          /* false: no huge block */
COLD size_t huge_pages(const void *block); /* 0: no huge block, or one of no bytes */
COLD size_t huge_bytes(const void *block); /* that the program may use; likewise */
COLD void *huge_resize(void *block, size_t bytes); /* moved, perhaps; NULL: left as it was, or no huge block */
COLD size_t huge_trim(bool all);           /* mappings that wait go, all or those that waited long enough; bytes */
COLD void huge_narrow(void);               /* all blocks' guards are narrow from now on; under the large lock */
COLD int64_t huge_ordinal(const void *block); /* -1: no huge block */
COLD bool huge_holds(const void *address); /* in a huge block, at its start or not; false unless hardened or checked */
COLD uint8_t huge_mark(const void *block); /* 0: no huge block, or nobody marked it */
COLD void huge_set_mark(const void *block, uint8_t mark); /* unless it is no huge block */
COLD bool huge_set_sample(const void *block, bool is); /* false: it is no huge block, or was so already */
COLD void huge_census(size_t *bytes, size_t *blocks);
COLD void huge_check(void);
COLD void huge_reset(void);
