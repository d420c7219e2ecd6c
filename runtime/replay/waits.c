/* What the streams wait for, and the line that ends a replay in which nothing moves. */
#include <stdio.h>
#include <unistd.h>

#include "waits.h"
#include "watchdog.h"

enum { LINE_BYTES = 800, NAMED_STREAMS = 4 };

static struct replay *watched;
static uint64_t watched_limit_ms;

void wait_begin(struct worker *w, enum wait wait, uint64_t event, uint64_t number)
{
    atomic_store_explicit(&w->waits_at, event, memory_order_relaxed);
    atomic_store_explicit(&w->waits_for, number, memory_order_relaxed);
    atomic_store_explicit(&w->wait, wait, memory_order_release);
}

void wait_end(struct worker *w)
{
    atomic_store_explicit(&w->wait, WAIT_NONE, memory_order_release);
    advance(w);
}

static uint64_t progress(void)
{
    uint64_t sum = 0;
    for (uint32_t t = 0; t < watched->script.header->streams; t++)
        sum += atomic_load_explicit(&watched->workers[t].moved, memory_order_relaxed);
    return sum;
}

static int describe(const struct worker *w, enum wait wait, char *text, size_t room)
{
    static const char *const waits[] = {
        [WAIT_BLOCK] = "until %lu operations are complete on its block",
        [WAIT_WINDOW] = "for window %lu to begin",
        [WAIT_JOIN] = "for stream %lu to end",
        [WAIT_PEAK] = "at the peak of the live bytes for the %lu others that begin before it",
        [WAIT_COUNTED] = "at the peak of the live bytes for stream %lu to count them",
    };
    if (wait == WAIT_NONE)
        return snprintf(text, room, "stream %u does not come back from the call of one of its %u events from event %lu on",
                        w->stream, (unsigned)RUN_EVENTS, atomic_load_explicit(&w->waits_at, memory_order_relaxed));
    int used = snprintf(text, room, "stream %u at its event %lu waits ", w->stream,
                        atomic_load_explicit(&w->waits_at, memory_order_relaxed));
    return used + snprintf(text + used, room - (size_t)used, waits[wait], atomic_load_explicit(&w->waits_for, memory_order_relaxed));
}

/* snprintf is no async-signal-safe function, but the process ends here and the buffer is on the stack. */
static void end_stuck(void)
{
    char line[LINE_BYTES];
    uint32_t named = 0, more = 0;
    size_t used = (size_t)snprintf(line, sizeof line, "replay: no progress for %g s: ", (double)watched_limit_ms / 1000);
    for (int waiting = 0; waiting < 2; waiting++) /* a stream inside a call is the cause, if there is one */
        for (uint32_t t = 0; t < watched->script.header->streams; t++) {
            struct worker *w = &watched->workers[t];
            enum wait wait = atomic_load_explicit(&w->wait, memory_order_acquire);
            if (wait == WAIT_UNBORN || wait == WAIT_ENDED || (wait != WAIT_NONE) != waiting)
                continue;
            if (named == NAMED_STREAMS) {
                more++;
                continue;
            }
            used += (size_t)snprintf(line + used, sizeof line - used, "%s", named++ > 0 ? "; " : "");
            used += (size_t)describe(w, wait, line + used, sizeof line - used);
        }
    if (more > 0)
        used += (size_t)snprintf(line + used, sizeof line - used, "; and %u more wait", more);
    line[used++] = '\n';
    _exit(write(STDERR_FILENO, line, used) == (ssize_t)used ? 1 : 2);
}

void waits_watch(struct replay *r, uint64_t limit_ms)
{
    watched = r;
    watched_limit_ms = limit_ms;
    watchdog_start(limit_ms, progress, end_stuck);
}
