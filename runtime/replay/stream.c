/* The loop that replays one stream: perform the call, touch or check the block, keep the order between threads. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "peak.h"
#include "rss.h"
#include "touch.h"
#include "waits.h"

/* C23's sized frees: used if the malloc under test has them, else free(). */
extern void free_sized(void *address, size_t bytes) __attribute__((weak));
extern void free_aligned_sized(void *address, size_t alignment, size_t bytes) __attribute__((weak));

enum {
    WINDOW_EVENTS = 65536, /* 1 MiB of script between two looks at the clock */
    SPINS_BEFORE_YIELD = 256
};

/* ---- pauses: work and waits of the replayer's own, taken out of what is reported ---- */

static struct spent pause_begin(void)
{
    return spent_by(RUSAGE_THREAD, CLOCK_THREAD_CPUTIME_ID);
}

static void pause_end(struct worker *w, struct spent begun)
{
    struct spent now = pause_begin();
    w->paused.wall_ns += now.wall_ns - begun.wall_ns;
    w->paused.cpu_ns += now.cpu_ns - begun.cpu_ns;
    w->paused.minor_faults += now.minor_faults - begun.minor_faults;
}

/* ---- the calls ---- */

static char *call_aligned(const struct event *event)
{
    void *address = NULL;
    size_t least = sizeof(void *); /* of posix_memalign */
    size_t alignment = (size_t)1 << event->align_log2;
    errno = posix_memalign(&address, alignment < least ? least : alignment, event_bytes(event));
    return errno == 0 ? address : NULL;
}

static inline char *call_birth(const struct event *event)
{
    if (event->op == OP_MALLOC)
        return malloc(event_bytes(event));
    if (event->op == OP_CALLOC)
        return calloc(1, event_bytes(event));
    return call_aligned(event);
}

static void call_free_sized(char *address, uint64_t bytes, const struct event *event)
{
    if (event->align_log2 > 4 && free_aligned_sized)
        free_aligned_sized(address, (size_t)1 << event->align_log2, bytes);
    else if (event->align_log2 <= 4 && free_sized)
        free_sized(address, bytes);
    else
        free(address);
}

static void require(const struct worker *w, const struct event *event, const char *address)
{
    static const char *const names[OP_COUNT] = {"malloc", "calloc", "realloc", "posix_memalign"};
    if (address == NULL && event_bytes(event) > 0)
        fail_event(w, event, "%s of %lu bytes returned NULL: %s", names[event->op], event_bytes(event),
                   strerror(errno));
}

/* ---- one event ---- */

/* The two bodies below are made once per thread loop: `checked` is a constant in each. */
static inline __attribute__((always_inline)) void birth(struct worker *w, const struct event *event,
                                                        struct block *block, bool checked)
{
    block->address = call_birth(event);
    block->bytes = event_bytes(event);
    if (__builtin_expect(block->address == NULL, 0))
        require(w, event, block->address);
    if (checked)
        check_birth(w, event, block);
    else
        touch_new(w->replay, block->address, 0, block->bytes);
}

static inline __attribute__((always_inline)) void resize(struct worker *w, const struct event *event,
                                                         struct block *block, bool checked)
{
    uint64_t old_bytes = block->bytes;
    if (checked)
        check_whole(w, event, block);
    block->bytes = event_bytes(event);
    block->address = realloc(block->address, block->bytes);
    if (__builtin_expect(block->address == NULL, 0))
        require(w, event, block->address);
    if (checked)
        check_resized(w, event, block, old_bytes);
    else
        touch_new(w->replay, block->address, old_bytes, block->bytes);
}

static inline __attribute__((always_inline)) void death(struct worker *w, const struct event *event,
                                                        struct block *block, bool checked)
{
    if (checked)
        check_whole(w, event, block);
    if (__builtin_expect(event->op == OP_FREE, 1))
        free(block->address);
    else
        call_free_sized(block->address, block->bytes, event);
    block->address = NULL; /* a slot reborn by realloc begins with none */
    block->bytes = 0;
}

static inline bool is_done(const struct block *block, uint32_t done)
{
    return atomic_load_explicit(&block->done, memory_order_acquire) == done;
}

/* Spin until `done` operations are complete on the slot, but not for long; returns the number of spins. */
static uint32_t spin(const struct block *block, uint32_t done)
{
    uint32_t spins = 0;
    while (spins < SPINS_BEFORE_YIELD && !is_done(block, done)) {
        arch_pause();
        spins++;
    }
    return spins;
}

double spin_ticks(void)
{
    struct block never = {.done = 0};
    uint64_t least = UINT64_MAX;
    for (int tries = 0; tries < 20; tries++) {
        uint64_t begun = arch_clock();
        spin(&never, 1);
        uint64_t ticks = arch_clock() - begun;
        least = ticks < least ? ticks : least;
    }
    return (double)least / SPINS_BEFORE_YIELD;
}

/* Wait until `done` operations are complete on the slot. Every event waits only for earlier ones of the trace's
 * order, so the earliest unfinished event can always go on. A system call would take longer than most waits, so the
 * first spins are counted, and not timed: a clock would count a time in which the thread did not run. */
static void await(struct worker *w, const struct event *event, const struct block *block)
{
    uint32_t done = event->after;
    if (is_done(block, done))
        return;
    w->stalls++;
    uint32_t spins = spin(block, done);
    w->spins += spins;
    if (spins == SPINS_BEFORE_YIELD) {
        struct spent yielded = pause_begin();
        wait_begin(w, WAIT_BLOCK, number_of(w, event), done);
        do
            sched_yield();
        while (spin(block, done) == SPINS_BEFORE_YIELD);
        wait_end(w);
        pause_end(w, yielded);
    }
    if (w->stamped != NULL)
        w->stamped->stamp = arch_clock();
}

static void spawn(struct worker *created)
{
    int error = pthread_create(&created->handle, NULL, stream_replay, created);
    if (error != 0)
        fail(2, "replay: thread %u cannot be created: %s", created->stream, strerror(error));
    created->created = true;
}

void worker_join(struct worker *first, uint64_t event, struct worker *other)
{
    if (!other->created || other->joined)
        return;
    wait_begin(first, WAIT_JOIN, event, other->stream);
    other->joined = pthread_join(other->handle, NULL) == 0;
    wait_end(first);
}

static inline __attribute__((always_inline)) void step(struct worker *w, const struct event *event, bool shared,
                                                       bool checked)
{
    if (shared && event->op >= OP_SPAWN) {
        struct worker *other = &w->replay->workers[event->slot];
        if (event->op == OP_SPAWN)
            spawn(other);
        else
            worker_join(w, number_of(w, event), other);
        return;
    }
    struct block *block = &w->replay->table[event->slot];
    if (shared && event->after != 0)
        await(w, event, block);
    if (event->op >= OP_FREE)
        death(w, event, block, checked);
    else if (event->op == OP_REALLOC)
        resize(w, event, block, checked);
    else
        birth(w, event, block, checked);
    if (shared) {
        uint32_t done = atomic_load_explicit(&block->done, memory_order_relaxed);
        atomic_store_explicit(&block->done, done + 1, memory_order_release);
    }
}

/* ---- runs of events: four loops, so that none pays for what it does not do ---- */

static inline __attribute__((always_inline)) void run_all(struct worker *w, const struct event *events, uint64_t n,
                                                          bool shared, bool checked)
{
    for (uint64_t i = 0; i < n; i++)
        step(w, &events[i], shared, checked);
}

/* A miss in the script or the table is the replay's: it comes before the stamp. A block that another thread still has is
 * not read. */
static inline void read_ahead(const struct worker *w, const struct event *event, bool shared)
{
    if (event->op >= OP_SPAWN)
        return;
    const struct block *block = &w->replay->table[event->slot];
    if (!shared || atomic_load_explicit(&block->done, memory_order_acquire) == event->after)
        (void)*(char *const volatile *)&block->address;
}

static void run_stamped(struct worker *w, const struct event *events, uint64_t n, bool shared)
{
    for (uint64_t i = 0; i < n; i++) {
        read_ahead(w, &events[i], shared);
        w->stamped = &w->latency[events[i].op >= OP_FREE];
        w->stamped->stamp = arch_clock();
        step(w, &events[i], shared, false);
        if (events[i].op < OP_SPAWN)
            latency_add(w->stamped);
    }
}

static void run_some(struct worker *w, const struct event *events, uint64_t n)
{
    w->begin = events;
    atomic_store_explicit(&w->waits_at, w->position, memory_order_relaxed);
    if (w->replay->stamped)
        run_stamped(w, events, n, w->replay->script.header->streams > 1);
    else if (w->replay->checked)
        run_all(w, events, n, true, true);
    else if (w->replay->script.header->streams == 1)
        run_all(w, events, n, false, false);
    else
        run_all(w, events, n, true, false);
    w->position += n;
    advance(w);
}

static void run(struct worker *w, const struct event *events, uint64_t n)
{
    for (uint64_t done = 0, some; done < n; done += some) {
        some = n - done < RUN_EVENTS ? n - done : RUN_EVENTS;
        run_some(w, events + done, some);
    }
}

static uint64_t peak_position(const struct worker *w)
{
    return w->replay->script.peak_positions[w->stream];
}

static bool at_peak_live(const struct worker *w)
{
    bool is_of_peak = w->stream == w->replay->script.header->peak_stream && w->position == peak_position(w);
    return is_of_peak && !w->replay->unsampled;
}

/* How many events may run before the next stop: a window, the next sample, the trace's peak. */
static uint64_t events_to_stop(const struct worker *w, uint64_t left)
{
    bool stops_at_peak = w->replay->counts_bytes || w->stream == w->replay->script.header->peak_stream;
    uint64_t n = left < WINDOW_EVENTS ? left : WINDOW_EVENTS, peak = peak_position(w), sample = rss_next_sample(w);
    if (sample - w->position < n)
        n = sample - w->position;
    if (stops_at_peak && w->position < peak && peak - w->position < n)
        n = peak - w->position;
    return n;
}

static void run_window(struct worker *w, const struct event *events, uint64_t n)
{
    bool resident = w->replay->script.resident;
    if (!resident) {
        struct spent begun = pause_begin();
        script_fetch(events, n);
        pause_end(w, begun);
    }
    run(w, events, n);
    uint64_t instants = rss_instants(w);
    bool at_peak = at_peak_live(w);
    if (resident && instants == 0 && !at_peak)
        return;
    struct spent begun = pause_begin();
    if (!resident)
        script_forget(events, n);
    if (instants > 0 || at_peak)
        rss_sample(w->replay, instants, at_peak);
    pause_end(w, begun);
}

static bool stands_at_peak(const struct worker *w)
{
    return w->replay->counts_bytes && w->position == peak_position(w);
}

static void run_segment(struct worker *w, const struct segment *segment)
{
    const struct event *events = w->replay->script.events + segment->first;
    uint64_t left = segment->count;
    while (left > 0) {
        uint64_t n = events_to_stop(w, left);
        run_window(w, events, n);
        events += n;
        left -= n;
        if (left > 0 && stands_at_peak(w))
            peak_reached(w);
    }
}

static void keep_pace(struct worker *w, uint32_t window)
{
    struct spent begun = pause_begin();
    w->stalls += pace_begin(w, window);
    pause_end(w, begun);
}

static void end_window(struct worker *w, uint32_t window)
{
    struct spent begun = pause_begin();
    pace_end(&w->replay->pace, window);
    pause_end(w, begun);
}

void *stream_replay(void *worker)
{
    struct worker *w = worker;
    const struct script *script = &w->replay->script;
    bool shared = script->header->streams > 1;
    wait_end(w);
    for (uint64_t s = script->first_segment[w->stream]; s < script->first_segment[w->stream + 1]; s++) {
        if (shared)
            keep_pace(w, script->segments[s].window);
        run_segment(w, &script->segments[s]);
        if (shared)
            end_window(w, script->segments[s].window);
        if (stands_at_peak(w)) /* behind the end of its window, for which others may wait that are to come to the peak */
            peak_reached(w);
    }
    wait_begin(w, WAIT_ENDED, w->position, 0);
    return NULL;
}
