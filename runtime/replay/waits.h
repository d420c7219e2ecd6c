/* The waits of the streams for each other: what each waits for, for whoever looks at a replay that stands still. */
#pragma once

#include "replay.h"

/* Beside each, what its number says. docs/lab/concurrency.md tells why each of them ends. */
enum wait {
    WAIT_UNBORN, /* not created yet */
    WAIT_NONE,
    WAIT_BLOCK,   /* for an earlier operation on the event's block: operations that must be complete */
    WAIT_WINDOW,  /* to begin a window: its number */
    WAIT_JOIN,    /* for the end of a thread: its stream */
    WAIT_PEAK,    /* stream 0, for the others to come to the peak: how many begin before it */
    WAIT_COUNTED, /* at the peak, for stream 0 to count */
    WAIT_ENDED,
};

/* `event`: the number of the stream's event that waits, from 0. */
void wait_begin(struct worker *w, enum wait wait, uint64_t event, uint64_t number);

/* The wait is over, or the stream begins. */
void wait_end(struct worker *w);

/* The stream's thread has performed more events. */
static inline void advance(struct worker *w)
{
    atomic_store_explicit(&w->moved, atomic_load_explicit(&w->moved, memory_order_relaxed) + 1, memory_order_relaxed);
}

/* The number of the event in the run under way. */
static inline uint64_t number_of(const struct worker *w, const struct event *event)
{
    return w->position + (uint64_t)(event - w->begin);
}

/* End the process with a line about its waits where nothing moves for limit_ms; 0: never. */
void waits_watch(struct replay *r, uint64_t limit_ms);
