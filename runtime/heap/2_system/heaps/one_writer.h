/* A heap's counters where one thread at a time has the heap: as the words of counters.h, without an atomic update. */
#pragma once

static inline void count_own(uint64_t *counter, uint64_t by)
{
    arch_add_64(counter, by);
}
