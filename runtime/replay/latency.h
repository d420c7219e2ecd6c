/* The time of each operation, in a histogram of bounded size: --latency.
 *
 * A stamp is the processors' clock, read before and behind each operation. An operation takes from the stamp before it to the stamp behind it, less what the stamps themselves take.
 * Buckets are as in HdrHistogram (hdrhistogram.org): exact up to 128 ticks, then 64 for each doubling, so a quantile is
 * off by 1/128 at most. Some processors' counters go in steps (26 ticks, 10 ns, on an EPYC of 2.6 GHz): there a quantile lies
 * evenly within the step that holds it. Numbers are in ticks until they are reported. */
#pragma once

#include "1_base/arch/arch.h"

#include <stddef.h>
#include <stdint.h>

enum { LATENCY_STEPS_LOG2 = 6, LATENCY_STEPS = 1 << LATENCY_STEPS_LOG2, LATENCY_BUCKETS = (65 - LATENCY_STEPS_LOG2) * LATENCY_STEPS };

/* The latencies of one thread, which alone writes them until it ends. */
struct latency {
    uint64_t stamp; /* before the operation */
    uint64_t worst;
    uint64_t sum;
    uint64_t count[LATENCY_BUCKETS];
};

static inline unsigned latency_bucket(uint64_t ticks)
{
    if (ticks < 2 * LATENCY_STEPS)
        return (unsigned)ticks;
    unsigned shift = 63 - (unsigned)__builtin_clzll(ticks) - LATENCY_STEPS_LOG2;
    return shift * LATENCY_STEPS + (unsigned)(ticks >> shift);
}

/* An operation has ended. */
static inline void latency_add(struct latency *l)
{
    uint64_t now = arch_clock(), ticks = now - l->stamp;
    l->count[latency_bucket(ticks)]++;
    l->sum += ticks;
    if (__builtin_expect(ticks > l->worst, 0))
        l->worst = ticks;
}

/* What latency_add measures where nothing happens, on average, and by which steps the counter goes. */
struct stamp {
    double cost, step;
};

struct stamp latency_calibrate(void);

/* Adds `from` to `to`. */
void latency_merge(struct latency *to, const struct latency *from);

/* The ticks under which `share` of the operations stayed; 0 if there is none. */
double latency_quantile(const struct latency *l, double share, double step);

/* The mean of all operations in ticks; 0 if there is none. */
double latency_mean(const struct latency *l);

/* The distribution as a JSON object in nanoseconds, what the stamps take subtracted. tick_ns: nanoseconds of a tick. */
int latency_text(const struct latency *l, struct stamp stamp, double tick_ns, char *text, size_t room);
