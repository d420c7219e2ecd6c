/* A call that is recorded: its thread's place in the spool. */
#pragma once

#include "1_base/spool/records.h"
#include "image.h"

extern __thread struct writer writer;

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
