/* A recording of a process that already runs (docs/live.md, 'a process that already runs').
 *
 * `heapsmith record --pid` holds the process, fills `hs_recording` from outside, and writes a jump to the function of recorded.h
 * over the beginning of each function of the family; at the end it puts the beginnings back. Nothing here runs before that. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "1_base/cold.h"
#include "1_base/spool/records.h"

enum {
#ifdef HEAPSMITH_ARCHIVE /* operator new is the C++ library's, which calls malloc */
    RECORDED = 10, /* functions of the family; the others jump to one of these, or call it */
#else
    RECORDED = 11, /* operator new too, which has malloc inside */
#endif
    RECORDED_BYTES = 8, /* kept of the beginning of each */
    RECORD_PATH_BYTES = 4352, /* a path and a file's name */
};

/* Written from outside while the process is held, but for what is given out and counted. */
struct recording {
    uint32_t number;   /* 1, 2, ...: which of this memory; 0: none is under way */
    uint32_t last;     /* the number of the last one */
    uint32_t pid;      /* of the process that is recorded: a child of fork is not */
    uint32_t recorder; /* the process that reads the events; when it is gone, the recording ends */
    uint32_t streams, threads, units; /* numbers given out */
    uint32_t leads; /* the beginnings are jumps */
    uint32_t stacks; /* events have call stacks, by their numbers in the table of samples */
    uint32_t reserved;
    uint64_t drops; /* events not recorded because the spool could not grow */
    char saved[RECORDED][RECORDED_BYTES]; /* the beginnings, while they are jumps */
    char path[RECORD_PATH_BYTES]; /* of the spool file */
};

/* A function of the family, and what it leads to while it is recorded. */
struct recorded_function {
    const void *function;
    const void *recorded;
};

extern struct recording hs_recording;
extern const struct recorded_function hs_recorded[RECORDED];
extern __thread struct writer hs_writer;

/* What a child of fork does not get: the kernel clears it. `number` is that of the last recording that began to be written, 0 in
 * a child. */
struct recording_here {
    uint32_t number;
    uint32_t lock; /* spin lock: the beginning of a recording, and `ended` */
    struct window *ended; /* LIFO list of windows to be taken over, under `lock` */
};

extern struct recording_here *hs_recording_here;

/* Slow path of record_begins, for a busy writer: true when it has room. Keeps errno. */
COLD bool hs_record_room(struct writer *w);

static inline void record_ends(void)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    hs_writer.busy--;
}

/* This thread's writer, with room for the records of one call; NULL if this call is not to be recorded. The thread is busy until
 * record_ends in both cases: what a call is made of is no event, and neither is counted as one that is dropped.
 * Busy comes first: a signal's handler that allocates in between then leaves the writer alone. */
static inline struct writer *record_begins(void)
{
    struct writer *w = &hs_writer;
    if (w->busy++ > 0)
        return NULL;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    bool is_of_this = w->image == hs_recording.number && w->image == __atomic_load_n(&hs_recording_here->number, __ATOMIC_RELAXED);
    bool has_room = __builtin_expect(is_of_this && w->cursor < w->limit, 1) || hs_record_room(w);
    return has_room ? w : NULL;
}

#define RECORD_VIEW                                                                    \
    ADDRESS("recording", hs_recording)                                                 \
    NUMBER("recording_bytes", sizeof(struct recording))                                \
    ADDRESS("recorded", hs_recorded)                                                   \
    NUMBER("RECORDED", RECORDED)                                                       \
    NUMBER("SPOOL_VERSION", SPOOL_VERSION)                                             \
    NUMBER("TAIL_BYTES", TAIL_BYTES)
