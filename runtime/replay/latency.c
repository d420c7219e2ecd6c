/* The slow parts of a latency histogram: what a stamp costs, sums and quantiles. */
#include "latency.h"

#include <stdio.h>

enum { TRIALS = 4096, FEW = TRIALS / 100, MOST_TICKS = 512 };

/* The deltas of stamps with nothing between them; those of interrupts are too long and too few to count. */
struct stamp latency_calibrate(void)
{
    static uint32_t seen[MOST_TICKS];
    for (uint64_t trial = 0, before = arch_clock(); trial < TRIALS; trial++) {
        uint64_t now = arch_clock();
        if (now - before < MOST_TICKS)
            seen[now - before]++;
        before = arch_clock();
    }
    struct stamp found = {0, 1};
    uint64_t sum = 0, trials = 0, last = MOST_TICKS, step = MOST_TICKS;
    for (uint64_t ticks = 0; ticks < MOST_TICKS; ticks++) {
        if (seen[ticks] < FEW)
            continue;
        sum += seen[ticks] * ticks;
        trials += seen[ticks];
        if (last < ticks && ticks - last < step)
            step = ticks - last;
        last = ticks;
    }
    if (trials > 0)
        found.cost = (double)sum / (double)trials;
    if (step < MOST_TICKS)
        found.step = (double)step;
    return found;
}

void latency_merge(struct latency *to, const struct latency *from)
{
    for (unsigned bucket = 0; bucket < LATENCY_BUCKETS; bucket++)
        to->count[bucket] += from->count[bucket];
    to->sum += from->sum;
    if (from->worst > to->worst)
        to->worst = from->worst;
}

static double middle_of(unsigned bucket)
{
    if (bucket < 2 * LATENCY_STEPS)
        return bucket;
    unsigned shift = bucket / LATENCY_STEPS - 1;
    uint64_t first = (uint64_t)(bucket - shift * LATENCY_STEPS) << shift;
    return (double)first + (double)((1ull << shift) - 1) / 2;
}

static uint64_t all_of(const struct latency *l)
{
    uint64_t all = 0;
    for (unsigned bucket = 0; bucket < LATENCY_BUCKETS; bucket++)
        all += l->count[bucket];
    return all;
}

double latency_mean(const struct latency *l)
{
    uint64_t all = all_of(l);
    return all > 0 ? (double)l->sum / (double)all : 0;
}

double latency_quantile(const struct latency *l, double share, double step)
{
    uint64_t all = all_of(l), below = 0;
    for (unsigned bucket = 0; bucket < LATENCY_BUCKETS; bucket++) {
        double inside = share * (double)all - (double)below;
        below += l->count[bucket];
        if (l->count[bucket] == 0 || inside > (double)l->count[bucket])
            continue;
        return middle_of(bucket) + (inside / (double)l->count[bucket] - 0.5) * step;
    }
    return 0;
}

int latency_text(const struct latency *l, struct stamp stamp, double tick_ns, char *text, size_t room)
{
    const double share[] = {.5, .99, .999};
    double own[5] = {[3] = (double)l->worst, [4] = latency_mean(l)};
    for (int i = 0; i < 3; i++) {
        double quantile = latency_quantile(l, share[i], stamp.step);
        own[i] = quantile < own[3] ? quantile : own[3]; /* a bucket may end behind the worst */
    }
    for (int i = 0; i < 5; i++)
        own[i] = own[i] > stamp.cost ? (own[i] - stamp.cost) * tick_ns : 0;
    return snprintf(text, room,
                    "{\"mean\": %.3f, \"p50\": %.2f, \"p99\": %.2f, \"p999\": %.2f, \"worst\": %.2f, "
                    "\"stamp\": %.2f, \"step\": %.2f}",
                    own[4], own[0], own[1], own[2], own[3], stamp.cost * tick_ns, stamp.step * tick_ns);
}
