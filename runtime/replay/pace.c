/* Threads of a replay keep near each other, by windows of the trace's events.
 *
 * An event waits only for events of windows before its own. So the earliest unfinished event can always go on. */
#include "pace.h"

#include "waits.h"

enum { WINDOWS_AHEAD = 1 };

void pace_prepare(struct pace *pace, const struct script *script, _Atomic uint32_t *left)
{
    pace->left = left;
    for (uint64_t s = 0; s < script->header->segments; s++) {
        uint32_t window = script->segments[s].window;
        atomic_fetch_add_explicit(&left[window], 1, memory_order_relaxed);
        if (pace->windows <= window)
            pace->windows = window + 1ull;
    }
}

static bool may_begin(struct pace *pace, uint32_t window)
{
    return window <= atomic_load_explicit(&pace->complete, memory_order_acquire) + WINDOWS_AHEAD;
}

bool pace_begin(struct worker *w, uint32_t window)
{
    struct pace *pace = &w->replay->pace;
    if (may_begin(pace, window))
        return false;
    wait_begin(w, WAIT_WINDOW, w->position, window);
    pthread_mutex_lock(&pace->lock);
    while (!may_begin(pace, window))
        pthread_cond_wait(&pace->raised, &pace->lock);
    pthread_mutex_unlock(&pace->lock);
    wait_end(w);
    return true;
}

void pace_end(struct pace *pace, uint32_t window)
{
    if (atomic_fetch_sub_explicit(&pace->left[window], 1, memory_order_acq_rel) > 1)
        return;
    pthread_mutex_lock(&pace->lock);
    uint64_t complete = atomic_load_explicit(&pace->complete, memory_order_relaxed);
    while (complete < pace->windows && atomic_load_explicit(&pace->left[complete], memory_order_acquire) == 0)
        complete++;
    atomic_store_explicit(&pace->complete, complete, memory_order_release);
    pthread_cond_broadcast(&pace->raised);
    pthread_mutex_unlock(&pace->lock);
}
