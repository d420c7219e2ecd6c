/* What the driver asks of the library it has loaded but does not preload: the time, and what one record costs. */
#include <time.h>

#include "writer.h"

#pragma GCC visibility push(default)

/* A stamp and CLOCK_MONOTONIC in ns, read as close together as a few tries bring them: to[0], to[1]. */
void heapsmith_clock(uint64_t to[2])
{
    uint64_t closest = UINT64_MAX;
    for (int i = 0; i < 32; i++) {
        struct timespec now;
        uint64_t before = stamp_now();
        clock_gettime(CLOCK_MONOTONIC, &now);
        uint64_t apart = stamp_now() - before;
        if (apart >= closest)
            continue;
        closest = apart;
        to[0] = before + apart / 2;
        to[1] = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    }
}

/* The processor on which this thread runs, as records tell it. */
uint32_t heapsmith_processor(void)
{
    unsigned int place;
    arch_stamp(&place);
    return place & PLACE_PROCESSOR;
}

/* Ticks per record with a stamp: the hot path without the call it wraps, least of some rounds over a buffer in cache. */
double heapsmith_record_ticks(void)
{
    enum { SLOTS = 1024, ROUNDS = 64 };
    static uint64_t slots[2 * SLOTS * SPOOL_SLOT_WORDS]; /* a move may precede each record */
    uint64_t least = UINT64_MAX;
    for (int round = 0; round < ROUNDS; round++) {
        struct writer to = {.cursor = slots, .place = NOWHERE};
        uint64_t began = stamp_now();
        for (int i = 0; i < SLOTS; i++)
            put_stamped(&to, SPOOL_MALLOC, (uint64_t)(uintptr_t)slots, (uint64_t)i, 0);
        uint64_t ticks = stamp_now() - began;
        least = ticks < least ? ticks : least;
    }
    return (double)least / SLOTS;
}

#pragma GCC visibility pop
