/* glibc's heaps, chunk by chunk: what each chunk is, and how much of it is resident. */
#pragma once

#include "replay.h"

struct part {
    uint64_t bytes, resident;
};

/* The chunks of all heaps. `rounding`: of live blocks, what is not asked for, with headers. `other`: in use by glibc's mark,
 * but no live block. `freed`: in bins, but for fast bins, whose chunks are marked as in use. `heads`: what begins and ends
 * heaps. `mapped`: blocks with a mapping of their own, what is asked for and the rest. */
struct tally {
    struct part asked, rounding, other, freed, top, heads, mapped_asked, mapped_rounding;
};

/* Find the heaps, and note which of their pages are resident. False: there are more than it can hold. */
bool chunks_find(void);

/* Every chunk of these heaps as it is now, pages being resident that were when the heaps were found. False: some heap is no
 * row of chunks, or a live block is none of them. */
bool chunks_tally(const struct block *table, uint64_t slots, struct tally *tally);
