/* The replay script: a trace made flat, one stream of events per thread, written by tools/replay/script.py.
 *
 * File, in the machine's own byte order: a header, the events, then `streams + 1` first-segment numbers (u64), `streams`
 * positions of the peak (u64), `streams + 1` first-sample numbers (u64), the segments and the samples. The segments
 * first[t] .. first[t + 1] - 1 in that order are thread t's events, and likewise for its samples. A block has a slot in the
 * replayer's table; slots are numbered anew per stream by the writer (see there), so they are not the trace's ids. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum script_op {
    OP_MALLOC,
    OP_CALLOC,
    OP_REALLOC,
    OP_ALIGNED,
    OP_FREE,
    OP_FREE_SIZED,
    OP_SPAWN, /* slot is the number of the thread to create; only in stream 0 */
    OP_JOIN,  /* slot is the number of the thread to wait for; only in stream 0 */
    OP_COUNT
};

/* `after`: the number of operations that must be complete on this slot before this one may begin; 0 when the previous
 * one was made by the same thread, so that program order already says so. */
struct event {
    uint32_t slot;
    uint32_t after;
    uint32_t size_low; /* requested bytes, low 32 of 48 bits */
    uint16_t size_high;
    uint8_t align_log2;
    uint8_t op;
};

struct segment {
    uint64_t first; /* number of its first event in the file */
    uint32_t count;
    uint32_t window; /* the trace's events lie in windows, numbered from 0 in the trace's order */
};

/* How many events a stream has performed at a moment of the trace. The last stream that reaches its position of a moment
 * samples RSS. The sample counts for `instants` of the evenly spaced instants of the trace's time. */
struct sample {
    uint64_t position; /* events of the stream before it, at least 1; not descending */
    uint32_t moment;   /* its number, below MOMENTS; streams that have not begun by then have no sample of it */
    uint32_t instants;
};

enum { SCRIPT_VERSION = 5, PAGE_BYTES = 4096, MOMENTS = 256 };

struct script_header {
    char magic[8]; /* "HSREPLAY" */
    uint32_t version;
    uint32_t streams;
    uint64_t events; /* spawns and joins included */
    uint64_t operations; /* calls of the malloc family */
    uint64_t slots;
    uint64_t segments;
    uint64_t peak_live_bytes; /* of requested bytes, in the trace's order */
    uint32_t peak_stream;     /* of the event that reaches the peak */
    uint32_t samples;
};

_Static_assert(sizeof(struct event) == 16, "the writer's dtype has 16 bytes");
_Static_assert(sizeof(struct sample) == 16, "the writer's dtype has 16 bytes");
_Static_assert(sizeof(struct script_header) == 64, "the writer's header has 64 bytes");

struct script {
    const struct script_header *header;
    const struct event *events;
    const uint64_t *first_segment; /* streams + 1 numbers */
    const uint64_t *peak_positions; /* by stream: its events up to and with the one that reaches the peak, in the trace's order */
    const uint64_t *first_sample; /* streams + 1 numbers */
    const struct segment *segments;
    const struct sample *samples;
    bool resident; /* all pages are mapped before the clock starts; else they come and go window by window */
};

static inline uint64_t event_bytes(const struct event *event)
{
    return event->size_low | (uint64_t)event->size_high << 32;
}

/* Map the file and check that its numbers fit its length; ends the process with status 2 if they do not. A file of at
 * most resident_limit_bytes gets all its pages now (they lie in the page cache in any case). */
struct script script_open(const char *path, uint64_t resident_limit_bytes);

/* Make the pages of n events present, so that the replay takes no fault for them. */
void script_fetch(const struct event *events, uint64_t n);

/* Unmap the pages of n events that have been replayed. */
void script_forget(const struct event *events, uint64_t n);
