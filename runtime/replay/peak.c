/* --bytes: every stream stops where the trace's live bytes peak, in the trace's order, and stream 0 counts what glibc has.
 *
 * An event waits only for earlier ones of that order, so all streams reach their stops: a stream stops with all windows before
 * that of the peak behind it, also with the end of the last one (docs/lab/concurrency.md). A stream whose events are all before
 * the peak does not wait there: stream 0 may have to join it first. */
#include "peak.h"

#include "waits.h"

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
    struct worker *first = &r->workers[0];
    uint64_t begun = 0;
    for (uint32_t t = 1; t < script->header->streams; t++)
        begun += script->peak_positions[t] > 0;
    wait_begin(first, WAIT_PEAK, first->position, begun);
    pthread_mutex_lock(&r->pace.lock);
    while (r->at_peak < begun)
        pthread_cond_wait(&r->pace.raised, &r->pace.lock);
    pthread_mutex_unlock(&r->pace.lock);
    wait_end(first);
    for (uint32_t t = 1; t < script->header->streams; t++)
        if (script->peak_positions[t] > 0 && ends_before(script, t))
            worker_join(first, first->position, &r->workers[t]);
}

/* Stream 0 counts; the streams that wait for it go on. */
static void count(struct replay *r)
{
    wait_for_others(r);
    r->bytes = bytes_count(r->table, r->script.header->slots);
    pthread_mutex_lock(&r->pace.lock);
    r->counted = true;
    pthread_cond_broadcast(&r->pace.raised);
    pthread_mutex_unlock(&r->pace.lock);
}

/* Any other stream stops. */
static void stop(struct worker *w)
{
    struct replay *r = w->replay;
    wait_begin(w, WAIT_COUNTED, w->position, 0);
    pthread_mutex_lock(&r->pace.lock);
    r->at_peak++;
    pthread_cond_broadcast(&r->pace.raised);
    while (!r->counted && !ends_before(&r->script, w->stream))
        pthread_cond_wait(&r->pace.raised, &r->pace.lock);
    pthread_mutex_unlock(&r->pace.lock);
    wait_end(w);
}

void peak_reached(struct worker *w)
{
    if (w->stream == 0)
        count(w->replay);
    else
        stop(w);
}
