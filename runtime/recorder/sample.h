/* Samples beside the events: touched pages of large blocks, the process's resident pages, the thread's processor time. */
#pragma once

#include "real.h"
#include "writer.h"

enum { LARGE_BYTES = 64 * 1024, LARGE_PLACES = 4096 };

/* By the address in units of 64 KiB, modulo LARGE_PLACES: whether a block began there that may be large. Only those are
 * asked for their size before they die. */
extern uint8_t large_places[LARGE_PLACES] __attribute__((visibility("hidden")));

static inline uint8_t *large_place(uint64_t address)
{
    return &large_places[address / LARGE_BYTES % LARGE_PLACES];
}

/* Of a block that the program has got; an allocator may give more than was asked for. */
static inline void note_large(uint64_t address, uint64_t bytes)
{
    if (bytes >= LARGE_BYTES / 2)
        __atomic_store_n(large_place(address), 1, __ATOMIC_RELAXED);
}

/* Count the touched pages of a large block; its call has a writer. */
void sample_large(struct writer *w, const void *block, size_t bytes);

/* The thread's processor time, and the process's resident pages if the last sample of them is old. */
void sample_process(struct writer *w);

/* Before a block dies or is resized. */
static inline void sample_block(struct writer *w, void *block)
{
    if (__builtin_expect(__atomic_load_n(large_place((uint64_t)(uintptr_t)block), __ATOMIC_RELAXED) == 0, 1))
        return;
    size_t bytes = real.sampled_size(block);
    if (__builtin_expect(bytes >= LARGE_BYTES, 0)) {
        sample_large(w, block, bytes);
        w->brief = 0; /* the time of its end counts for many bytes */
    }
}
