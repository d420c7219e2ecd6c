/* The hot path: one thread's place in its spool, and the writing of one record. */
#pragma once

#include <stddef.h>

#include "1_base/arch/arch.h"
#include "image.h"

/* One per thread; only its thread touches it. A call may begin while `cursor < limit`. */
struct writer {
    uint64_t *cursor;
    uint64_t *limit;
    uint32_t image; /* number of the image the window belongs to */
    uint32_t busy;  /* a recorded call is under way: calls made meanwhile are not recorded */
    struct window *window;
    struct sites *sites; /* what the stream's threads remember of their stacks (sites.h) */
    uint32_t ended;    /* this thread has announced its end */
    uint32_t patience; /* events to drop before the spool is tried again */
    uint32_t place;    /* the processor of the last record, as arch_stamp tells it; NOWHERE: there was none */
    int32_t brief;     /* events until the next one with a stamp of its own */
    uint32_t pace;     /* log2 of the events for which a stamp is meant to do */
    uint64_t stamp;    /* the last one of an event */
};

/* No processor: a processor's number is in the low 12 bits of what arch_stamp tells, its node above. */
static const uint32_t NOWHERE = UINT32_MAX;
enum { PLACE_PROCESSOR = 0xfff };

extern __thread struct writer writer __attribute__((visibility("hidden")));

/* Slow path of begin_call, for a busy writer: true when it has room. */
bool make_room(struct writer *w);

/* It waits for every earlier instruction and load, so a stamp taken after malloc is not early, and one taken before free is
 * not earlier than the load that brought the address here; stores that follow it are seen by others only after it. Hence
 * free's stamp < stamp of the malloc that gets the block next, and malloc's stamp < stamp of the block's free, on any cores
 * whose clocks agree. */
static inline uint64_t stamp_now(void)
{
    unsigned int place;
    return arch_stamp(&place);
}

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

/* Word 0 goes last: a process killed at any instruction leaves a whole record or none. */
static inline void put_record(struct writer *w, uint64_t operation, uint64_t stamp, uint64_t word)
{
    uint64_t *slot = w->cursor;
    slot[1] = word;
    __atomic_store_n(slot, stamp << SPOOL_STAMP_SHIFT | operation, __ATOMIC_RELEASE);
    w->cursor = slot + SPOOL_SLOT_WORDS;
}

/* Says that the writer's thread runs at another place than before. */
void put_move(struct writer *w, uint32_t place, uint64_t stamp);

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

/* After a stamp: for how many events it is to do. After a pause a stamp does for one event, then for two, four and so on,
 * so that the next pause moves no more events than came fast before it. The count varies by the stamp's own bits, or
 * stamps might always meet the same call of a loop. */
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

/* The stamp of an event, behind the processor's number where that is another than the last event's. */
static inline uint64_t stamp_event(struct writer *w)
{
    unsigned int place;
    uint64_t stamp = arch_stamp(&place);
    if (__builtin_expect(place != w->place, 0))
        put_move(w, place, stamp);
    if (is_alone())
        set_pace(w, stamp);
    return stamp;
}

/* more: what the last word holds beside the address's high bits. */
static inline void put_long_record(struct writer *w, uint64_t operation, uint64_t stamp, uint64_t address,
                                   uint64_t bytes, uint64_t more)
{
    w->cursor[2] = bytes;
    w->cursor[3] = address >> SPOOL_ADDRESS_BITS << 8 | more;
    put_record(w, operation | SPOOL_LONG, stamp, address & ((UINT64_C(1) << SPOOL_ADDRESS_BITS) - 1));
    w->cursor += SPOOL_SLOT_WORDS;
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
