/* Samples of RSS. Streams run beside each other, in another order than in the trace: a short stream may have ended when a
 * long one has hardly begun. When the last stream has come to its place of a moment, the program has done all that it had
 * done by then, and the other streams may be further, by two windows of events at most. */
#include "rss.h"

void rss_prepare(struct replay *r)
{
    for (uint32_t i = 0; i < r->script.header->samples; i++)
        r->to_come[r->script.samples[i].moment]++;
}

uint64_t rss_next_sample(const struct worker *w)
{
    return w->sample < w->samples_end ? w->replay->script.samples[w->sample].position : NEVER;
}

uint64_t rss_instants(struct worker *w)
{
    uint64_t instants = 0;
    while (w->position == rss_next_sample(w)) {
        const struct sample *sample = &w->replay->script.samples[w->sample++];
        if (atomic_fetch_sub_explicit(&w->replay->to_come[sample->moment], 1, memory_order_relaxed) == 1)
            instants += sample->instants;
    }
    return instants;
}

void rss_sample(struct replay *r, uint64_t instants, bool at_peak)
{
    uint64_t bytes = rss_anon_bytes(), peak = atomic_load_explicit(&r->rss_peak_bytes, memory_order_relaxed);
    while (bytes > peak && !atomic_compare_exchange_weak(&r->rss_peak_bytes, &peak, bytes))
        ;
    if (at_peak)
        r->rss_peak_live_bytes = bytes;
    atomic_fetch_add_explicit(&r->rss_sum_bytes, bytes * instants, memory_order_relaxed);
    atomic_fetch_add_explicit(&r->rss_instants, instants, memory_order_relaxed);
}
