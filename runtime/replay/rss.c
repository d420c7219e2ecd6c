/* Samples of RSS. Streams run beside each other, in another order than in the trace: a short stream may have ended when a
 * long one has hardly begun. So RSS is that of a moment only when the last stream has got there. */
#include "rss.h"

void rss_await(struct replay *r)
{
    for (uint32_t i = 0; i < r->script.header->samples; i++)
        r->awaited[r->script.samples[i].moment]++;
}

uint64_t rss_next_sample(const struct worker *w)
{
    return w->sample < w->samples_end ? w->replay->script.samples[w->sample].position : NEVER;
}

/* The instants of the moments at which all other streams have been. */
static uint64_t instants_here(struct worker *w)
{
    uint64_t instants = 0;
    while (w->position == rss_next_sample(w)) {
        const struct sample *sample = &w->replay->script.samples[w->sample++];
        if (atomic_fetch_sub_explicit(&w->replay->awaited[sample->moment], 1, memory_order_relaxed) == 1)
            instants += sample->instants;
    }
    return instants;
}

void rss_sample(struct worker *w, bool at_peak)
{
    uint64_t instants = instants_here(w);
    if (instants == 0 && !at_peak)
        return;
    uint64_t bytes = rss_anon_bytes(), peak = atomic_load_explicit(&w->replay->rss_peak_bytes, memory_order_relaxed);
    while (bytes > peak && !atomic_compare_exchange_weak(&w->replay->rss_peak_bytes, &peak, bytes))
        ;
    if (at_peak)
        w->replay->rss_peak_live_bytes = bytes;
    atomic_fetch_add_explicit(&w->replay->rss_sum_bytes, bytes * instants, memory_order_relaxed);
    atomic_fetch_add_explicit(&w->replay->rss_instants, instants, memory_order_relaxed);
}
