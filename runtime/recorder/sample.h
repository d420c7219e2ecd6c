/* Samples beside the events: touched pages of large blocks, the process's resident pages, the thread's processor time. */
#pragma once

#include "real.h"
#include "writer.h"

enum { LARGE_BYTES = 64 * 1024 };

/* Count the touched pages of a large block; its call has a writer. */
void sample_large(struct writer *w, const void *block, size_t bytes);

/* The thread's processor time, and the process's resident pages if the last sample of them is old. */
void sample_process(struct writer *w);

/* Before a block dies or is resized. */
static inline void sample_block(struct writer *w, void *block)
{
    size_t bytes = real.sampled_size(block);
    if (__builtin_expect(bytes >= LARGE_BYTES, 0)) {
        sample_large(w, block, bytes);
        w->brief = 0; /* the time of its end counts for many bytes */
    }
}
