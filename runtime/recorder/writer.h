/* The hot path of the recorder: a call that is recorded, and events that share a stamp. */
#pragma once

#include "1_base/spool/records.h"
#include "image.h"

extern __thread struct writer writer __attribute__((visibility("hidden")));

/* Slow path of begin_call, for a busy writer: true when it has room. */
bool make_room(struct writer *w);

static inline void end_call(struct writer *w)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    w->busy = 0;
}

/* This thread's writer, marked busy, with room for the records of one call; NULL if this call is not to be recorded.
 * Busy comes first: a signal's handler that allocates in between then leaves the writer alone. */
static inline struct writer *begin_call(void)
{
    struct writer *w = &writer;
    if (__builtin_expect(w->busy, 0)) {
        count_nested();
        return NULL;
    }
    w->busy = 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    if (__builtin_expect(w->cursor >= w->limit || w->image != image->number, 0) && !make_room(w)) {
        end_call(w);
        return NULL;
    }
    return w;
}

/* The C library's flag, which is 0 before a second thread begins; that of a C library without one is always 0. */
extern const char *single_thread __attribute__((visibility("hidden")));

/* Whether no other thread has, or can have had, an event of this image: the order of the records is then their time's. */
static inline bool is_alone(void)
{
    return *single_thread != 0 && image->threads == 1;
}

#ifndef SHARED_TICKS
#define SHARED_TICKS (1 << 15) /* ten microseconds or so: events that share a stamp should not take longer */
#endif
enum { MOST_PACE = 6, PAUSE_TICKS = 4 * SHARED_TICKS };

/* After a stamp: for how many events it is to do. After a pause a stamp does for one event, then for two, four and so on.
 * The count varies by the stamp's own bits, or stamps might always meet the same call of a loop: from half of 2^pace to
 * three times that. A stamp of a pace comes after at least 2^(pace - 1) fast events, so the next pause moves less than
 * three times the events that came fast before it. */
static inline void set_pace(struct writer *w, uint64_t stamp)
{
    uint64_t took = stamp - w->stamp;
    w->stamp = stamp;
    if (took > PAUSE_TICKS)
        w->pace = 0;
    else if (took > SHARED_TICKS)
        w->pace -= w->pace > 0;
    else if (took < SHARED_TICKS / 2)
        w->pace += w->pace < MOST_PACE;
    uint32_t half = (1u << w->pace) / 2;
    w->brief = (int32_t)(half + ((uint32_t)(stamp >> 4) & (2 * half - (half > 0))));
}

/* The stamp of an event, from which on others may share it. */
static inline uint64_t stamp_shared(struct writer *w)
{
    uint64_t stamp = stamp_event(w);
    if (is_alone())
        set_pace(w, stamp);
    return stamp;
}

/* One event with a stamp of its own. */
void put_stamped(struct writer *w, uint64_t operation, uint64_t address, uint64_t bytes, uint32_t site);

/* One event about a block, at a known site unless that is 0. */
static inline void put_event(struct writer *w, uint64_t operation, const void *block, uint64_t bytes, uint32_t site)
{
    uint64_t address = (uint64_t)(uintptr_t)block, place = address >> 4 | address << 60;
    bool is_small = (place >> SPOOL_BRIEF_ADDRESS_BITS | bytes >> SPOOL_BRIEF_SIZE_BITS) == 0;
    if (__builtin_expect(!is_small || !is_alone() || --w->brief <= 0, 0)) {
        put_stamped(w, operation, address, bytes, site);
        return;
    }
    uint64_t *record = w->cursor, word = bytes << (64 - SPOOL_BRIEF_SIZE_BITS) | place << SPOOL_STAMP_SHIFT | operation;
    if (site != 0)
        record[1] = site;
    __atomic_store_n(record, word | SPOOL_BRIEF | (site != 0 ? SPOOL_LONG : 0), __ATOMIC_RELEASE);
    w->cursor = record + 1 + (site != 0);
}
