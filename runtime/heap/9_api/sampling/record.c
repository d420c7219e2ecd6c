/* The streams of a recording (record.h): where a thread's records go, as in the recorder. */
#define _GNU_SOURCE
#include "9_api/sampling/record.h"

#include "1_base/spool/windows.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { HERE_BYTES = 4096 };

struct recording hs_recording;
__thread struct writer hs_writer;

static struct recording_here nothing_here; /* until a recording begins */
struct recording_here *hs_recording_here = &nothing_here;
static pthread_key_t record_end_key; /* its destructor is announce_end */
static bool has_record_key;

static void lock_here(void)
{
    while (__atomic_exchange_n(&hs_recording_here->lock, 1, __ATOMIC_ACQUIRE) != 0)
        syscall(SYS_sched_yield);
}

static void unlock_here(void)
{
    __atomic_store_n(&hs_recording_here->lock, 0, __ATOMIC_RELEASE);
}

static uint32_t give_out(uint32_t *numbers)
{
    return __atomic_fetch_add(numbers, 1, __ATOMIC_RELAXED);
}

static void count_dropped(void)
{
    __atomic_fetch_add(&hs_recording.drops, 1, __ATOMIC_RELAXED);
}

/* The window is full: copy it and begin again at its start (where hs_window_cursor then has to begin, too). */
static bool turn_stream(struct writer *w)
{
    if (!hs_window_copy(hs_recording.path, give_out(&hs_recording.units), w->window))
        return false;
    ended_of(w->window)->cursor = w->cursor = w->window->slots[0];
    return true;
}

/* A new stream, or that of a thread that is gone. */
static bool open_stream(struct writer *w)
{
    lock_here();
    struct window *window = hs_window_take(&hs_recording_here->ended);
    unlock_here();
    bool is_new = window == NULL;
    if (is_new)
        window = hs_window_open(hs_recording.path, give_out(&hs_recording.units), give_out(&hs_recording.streams));
    if (window == NULL)
        return false;
    w->window = window;
    w->cursor = is_new ? window->slots[0] : hs_window_cursor(window);
    w->limit = window->slots[WINDOW_SLOTS - CALL_SLOTS];
    return true;
}

/* First event of this thread in this recording. */
static bool start_stream(struct writer *w)
{
    if (!hs_stream_start(w, hs_recording_here->number, open_stream, turn_stream))
        return false;
    put_record(w, SPOOL_THREAD_START, stamp_event(w), give_out(&hs_recording.threads));
    if (has_record_key)
        pthread_setspecific(record_end_key, w);
    return true;
}

static void announce_end(void *value)
{
    (void)value;
    struct writer *w = &hs_writer;
    bool is_recorded = w->window != NULL && w->image == hs_recording.number && w->image == hs_recording_here->number;
    if (!is_recorded)
        return;
    w = record_begins();
    if (w != NULL)
        put_record(w, SPOOL_THREAD_EXIT, stamp_event(w), 0);
    if (w != NULL && !w->ended) {
        w->ended = 1;
        lock_here();
        hs_window_leave(&hs_recording_here->ended, w);
        unlock_here();
    }
    record_ends();
}

/* Map the page that the kernel clears in children; threads may do it at the same time. */
static bool has_page(void)
{
    if (hs_recording_here != &nothing_here)
        return true;
    struct recording_here *none = &nothing_here;
    void *page = mmap(NULL, HERE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return false;
    bool is_cleared = madvise(page, HERE_BYTES, MADV_WIPEONFORK) == 0;
    if (!is_cleared || !__atomic_compare_exchange_n(&hs_recording_here, &none, page, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        munmap(page, HERE_BYTES);
    return is_cleared;
}

/* Nobody reads the events any more: the functions lead here until the next recording, and record nothing. */
static bool is_alone(void)
{
    return syscall(SYS_kill, hs_recording.recorder, 0) != 0 && errno == ESRCH;
}

/* Is this process recorded, and is its recording the one that the page is of? */
static bool is_under_way(void)
{
    uint32_t number = __atomic_load_n(&hs_recording.number, __ATOMIC_RELAXED);
    if (number == 0 || hs_recording.pid != (uint32_t)syscall(SYS_getpid) || !has_page())
        return false;
    bool ends = is_alone();
    lock_here();
    if (ends)
        hs_recording.number = hs_recording_here->number = 0;
    if (!has_record_key)
        has_record_key = pthread_key_create(&record_end_key, announce_end) == 0;
    if (!ends && hs_recording_here->number != number) {
        hs_recording_here->ended = NULL;
        __atomic_store_n(&hs_recording_here->number, number, __ATOMIC_RELEASE);
    }
    unlock_here();
    return !ends;
}

static bool find_stream(struct writer *w)
{
    if (!is_under_way())
        return false;
    return w->image != hs_recording_here->number || w->window == NULL ? start_stream(w) : turn_stream(w);
}

bool hs_record_room(struct writer *w)
{
    uint32_t number = __atomic_load_n(&hs_recording.number, __ATOMIC_RELAXED);
    if (w->patience > 0 && (number == 0 || w->image == number)) {
        w->patience--;
        count_dropped();
        return false;
    }
    int saved = errno;
    bool found = find_stream(w);
    errno = saved;
    if (!found) {
        w->patience = RETRY_EVENTS;
        count_dropped();
    }
    return found;
}
