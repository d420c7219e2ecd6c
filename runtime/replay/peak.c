/* --bytes: every stream stops where the trace's live bytes peak, in the trace's order, and stream 0 counts what glibc has.
 *
 * An event waits only for earlier ones of that order, so all streams reach their stops. A stream whose events are all before
 * the peak does not wait there: stream 0 may have to join it first. */
#include <sched.h>

#include "peak.h"

static uint64_t events_of(const struct script *script, uint32_t stream)
{
    uint64_t events = 0;
    for (uint64_t s = script->first_segment[stream]; s < script->first_segment[stream + 1]; s++)
        events += script->segments[s].count;
    return events;
}

static bool ends_before(const struct script *script, uint32_t stream)
{
    return script->peak_positions[stream] == events_of(script, stream);
}

/* All streams but this first one are at their stops, or gone with their thread caches. */
static void wait_for_others(struct replay *r)
{
    const struct script *script = &r->script;
    uint64_t begun = 0;
    for (uint32_t t = 1; t < script->header->streams; t++)
        begun += script->peak_positions[t] > 0;
    while (atomic_load_explicit(&r->at_peak, memory_order_acquire) < begun)
        sched_yield();
    for (uint32_t t = 1; t < script->header->streams; t++)
        if (script->peak_positions[t] > 0 && ends_before(script, t))
            worker_join(&r->workers[t]);
}

void peak_reached(struct worker *w)
{
    struct replay *r = w->replay;
    if (w->stream == 0) {
        wait_for_others(r);
        r->bytes = bytes_count(r->table, r->script.header->slots);
        atomic_store_explicit(&r->counted, true, memory_order_release);
        return;
    }
    atomic_fetch_add_explicit(&r->at_peak, 1, memory_order_release);
    if (ends_before(&r->script, w->stream))
        return;
    while (!atomic_load_explicit(&r->counted, memory_order_acquire))
        sched_yield();
}
