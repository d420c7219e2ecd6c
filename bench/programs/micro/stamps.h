/* The time of single calls of the benchmark programs, in their stamped form (-DSTAMP=1): a malloc from allocate() to the
 * end of touch(), so with the first writes to its block, and a free. Calls count from start_clock() on.
 *
 * Each thread has a table of its own while it lives. The tables are shared with the processes that the program forks. */
#pragma once
#include "latency.h"

struct stamps {
    struct latency allocate, release;
};

extern __thread struct stamps *stamps_own __attribute__((tls_model("local-exec")));
extern int stamps_on;

/* The calling thread takes a table, until it ends. */
struct stamps *stamps_take(void);

/* For a process that ends by _exit(): its table serves the next. */
void stamps_leave(void);

/* Comes before the program's threads and processes. */
void stamps_prepare(void);

/* From here on calls count. */
void stamps_begin(void);

/* Members of a JSON object, behind a comma: both distributions. */
int stamps_text(char *text, size_t room);

static inline struct stamps *stamps_of_thread(void)
{
    return __builtin_expect(stamps_own != NULL, 1) ? stamps_own : stamps_take();
}

static inline void stamp_begin(struct latency *of)
{
    of->stamp = stamps_on ? arch_clock() : 0;
}

static inline void stamp_end(struct latency *of)
{
    if (of->stamp != 0)
        latency_add(of);
    of->stamp = 0;
}
