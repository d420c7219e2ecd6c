/* Windows of a spool file (spool.h): made, copied and taken over by path, so that no descriptor outlives a call. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "1_base/spool/records.h"
#include "1_base/spool/spool.h"

/* What its process keeps of a live window whose thread has announced its end (see stream.c). It follows the unit in memory,
 * but not in the file: whoever can write the file steers nothing by it. */
struct ended {
    uint64_t *cursor; /* where the thread's records stopped then; a few may follow */
    struct window *next;
    uint32_t thread; /* the kernel's id of it */
};

static inline struct ended *ended_of(struct window *window)
{
    return (struct ended *)(window + 1);
}

/* As open(2), but no point of thread cancellation. */
int hs_spool_open(const char *name, int flags);

/* Map a part of the file. Its bytes, a multiple of 4096, are written as zeros first: where the disk is full, a store into
 * a hole of the file ends by SIGBUS. NULL: no room. */
void *hs_spool_map(int file, uint64_t bytes, uint64_t offset);

/* A new live window, empty, at that unit of the file; NULL if that fails. */
struct window *hs_window_open(const char *path, uint32_t unit, uint32_t stream);

/* Unmap. */
void hs_window_close(struct window *window);

/* Copy a full live window to that unit of the file and clear it. False, and nothing changed, if that fails. */
bool hs_window_copy(const char *path, uint32_t unit, struct window *window);

/* Where the records of an ended thread stop: a few may follow what it had when it announced its end. */
uint64_t *hs_window_cursor(struct window *window);

/* Give a writer's thread a stream: `open` gives it a window, and `turn` makes room in one that is full. What the writer held is
 * of an earlier image or recording, and goes. False: there is no room. */
bool hs_stream_start(struct writer *w, uint32_t image, bool (*open)(struct writer *w), bool (*turn)(struct writer *w));

/* The writer's thread, which runs, has announced its end: its window goes on a list, from which another thread may take it. */
void hs_window_leave(struct window **ended, struct writer *w);

/* Unlink and return the first window of a list whose thread the kernel no longer knows; NULL if there is none. */
struct window *hs_window_take(struct window **ended);
