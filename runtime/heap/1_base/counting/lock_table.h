/* Locks by path and stage: the counts, their names, and what tools ask for. Definitions, taken in where locks count. */
#pragma once

#include <string.h>

uint64_t hs_lock_count[LOCK_COUNTERS];
__thread uint32_t hs_new_locks;
__thread enum lock_stage hs_acquired;

const char *const hs_lock_counter[] = {
    "take.own", "take.same", "take.other", "take.claim", "take.superslab", "take.none",
    "acquire.same", "acquire.other", "acquire.claim", "acquire.superslab", "acquire.none",
    "retire", "give", "batch_take", "batch_keep", "remote_put", "remote_drain",
    "run_take", "run_give", "run_extend", "run_spill", "huge_take", "huge_give", "huge_resize",
    "heap_start", "heap_end", "prewarm", "background", "look", "ask", "other",
};
_Static_assert(sizeof hs_lock_counter / sizeof hs_lock_counter[0] == LOCK_COUNTERS, "a name per counter");

void report_locks(struct text *out)
{
    text_string(out, ", \"locks\": {");
    for (size_t path = 0; path < LOCK_COUNTERS; path++)
        text_field(out, path == 0 ? "" : ", ", hs_lock_counter[path],
                   __atomic_load_n(&hs_lock_count[path], __ATOMIC_RELAXED));
    text_string(out, "}");
}

/* Writes the counts, unless NULL; how many there are. */
__attribute__((visibility("default"))) size_t heapsmith_locks(uint64_t *counts);
size_t heapsmith_locks(uint64_t *counts)
{
    if (counts != NULL)
        memcpy(counts, hs_lock_count, sizeof hs_lock_count);
    return LOCK_COUNTERS;
}
