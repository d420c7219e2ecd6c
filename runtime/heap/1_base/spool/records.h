/* The hot path of a recording: one thread's place in its spool, and the writing of one record. The recorder has it, and libraries
 * that can be recorded while they run. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "1_base/arch/arch.h"
#include "1_base/spool/spool.h"

enum {
    CALL_SLOTS = 12,     /* the most that one call records: a thread's start with two samples, two more, two long
                          * records, and a move before the start and each of these records */
    RETRY_EVENTS = 4096, /* dropped before the spool is tried again */
};

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
    /* The recorder's own, whose events may share a stamp (runtime/recorder/writer.h). */
    int32_t brief;     /* events until the next one with a stamp of its own */
    uint32_t pace;     /* log2 of the events for which a stamp is meant to do */
    uint64_t stamp;    /* the last one of an event */
};

/* No processor: a processor's number is in the low 12 bits of what arch_stamp tells, its node above. */
static const uint32_t NOWHERE = UINT32_MAX;
enum { PLACE_PROCESSOR = 0xfff };

/* The clock waits for each earlier instruction and load, so a stamp taken after malloc is not early, and one taken before free is
 * not earlier than the load that brought the address here; stores that follow it are seen by others only after it. Hence
 * free's stamp < stamp of the malloc that gets the block next, and malloc's stamp < stamp of the block's free, on any cores
 * whose clocks agree. */
static inline uint64_t stamp_now(void)
{
    unsigned int place;
    return arch_stamp(&place);
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
static inline void put_move(struct writer *w, uint32_t place, uint64_t stamp)
{
    w->place = place;
    put_record(w, SPOOL_MOVED, stamp, place & PLACE_PROCESSOR);
}

/* The stamp of an event, behind the processor's number where that is another than the last event's. */
static inline uint64_t stamp_event(struct writer *w)
{
    unsigned int place;
    uint64_t stamp = arch_stamp(&place);
    if (__builtin_expect(place != w->place, 0))
        put_move(w, place, stamp);
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

/* One event about a block with a stamp of its own, at a known site unless that is 0. */
static inline void put_stamped_at(struct writer *w, uint64_t operation, uint64_t stamp, uint64_t address, uint64_t bytes,
                                  uint32_t site)
{
    if ((site | address >> SPOOL_ADDRESS_BITS | bytes >> 16) == 0)
        put_record(w, operation, stamp, bytes << SPOOL_ADDRESS_BITS | address);
    else
        put_long_record(w, operation, stamp, address, bytes, (uint64_t)site << SPOOL_SITE_SHIFT);
}

static inline unsigned log2_of(size_t alignment)
{
    return alignment > 1 ? 64 - (unsigned)__builtin_clzl(alignment - 1) : 0;
}

/* The same of an event that tells an alignment. */
static inline void put_aligned_at(struct writer *w, uint64_t operation, uint64_t stamp, uint64_t address, size_t alignment,
                                  uint64_t bytes, uint32_t site)
{
    put_long_record(w, operation, stamp, address, bytes, (uint64_t)site << SPOOL_SITE_SHIFT | log2_of(alignment));
}
