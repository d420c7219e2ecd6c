/* Threads of a replay keep near each other, as they were in the trace: one that runs ahead waits for those behind. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct script;
struct worker;

/* `left` counts the segments of each window that are not complete; all windows below `complete` are. */
struct pace {
    _Atomic uint32_t *left;
    uint64_t windows;
    _Atomic uint64_t complete;
    pthread_mutex_t lock;  /* of raising `complete`, and of the peak (peak.c) */
    pthread_cond_t raised; /* or the peak's numbers have changed */
};

/* The lock and the condition are initialised. `left` has room for a number per segment, all 0. */
void pace_prepare(struct pace *pace, const struct script *script, _Atomic uint32_t *left);

/* Wait until all events before the window that precedes this one are complete; whether there was a wait. */
bool pace_begin(struct worker *w, uint32_t window);

/* A segment of this window is complete. */
void pace_end(struct pace *pace, uint32_t window);
