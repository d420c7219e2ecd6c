/* Streams: where a thread's records go, from its first event to the last one after its end.
 *
 * A thread that ends says so from a thread-specific key's destructor, but may still free (later destructors, the C
 * library's own clean-up). So its window goes on the image's list `ended`, and a new thread takes it over, stream and
 * all, once the kernel no longer knows the old thread. A program of a hundred thousand short threads thus needs as many
 * streams as threads at one time. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "1_base/spool/windows.h"
#include "python.h"
#include "real.h"
#include "sample.h"
#include "sites.h"

__thread struct writer writer;

extern char __libc_single_threaded __attribute__((weak)); /* glibc 2.32 and later */
static const char unknown;
const char *single_thread = &unknown;

static pthread_key_t end_key; /* its destructor is announce_end */
static bool prepared;         /* the real family is resolved and the key made; set while the process has one thread */

static void lock(struct image *held)
{
    while (__atomic_exchange_n(&held->lock, 1, __ATOMIC_ACQUIRE) != 0)
        syscall(SYS_sched_yield);
}

static void unlock(struct image *held)
{
    __atomic_store_n(&held->lock, 0, __ATOMIC_RELEASE);
}

void put_stamped(struct writer *w, uint64_t operation, uint64_t address, uint64_t bytes, uint32_t site)
{
    uint64_t stamp = stamp_shared(w);
    note_large(address, bytes);
    put_stamped_at(w, operation, stamp, address, bytes, site);
}

/* Go on writing in `window` at `cursor`; from the limit on, CALL_SLOTS no longer fit. */
static void enter_window(struct writer *w, struct window *window, uint64_t *cursor)
{
    w->window = window;
    w->sites = sites_of_stream(window->stream);
    w->cursor = cursor;
    w->limit = window->slots[WINDOW_SLOTS - CALL_SLOTS];
}

/* The window of a thread that is gone; NULL if there is none. */
static struct window *pop_ended(void)
{
    lock(image);
    struct window *window = hs_window_take(&image->ended);
    unlock(image);
    return window;
}

/* A new stream, or an ended thread's. */
static bool open_stream(struct writer *w)
{
    struct window *window = pop_ended();
    if (window != NULL) {
        enter_window(w, window, hs_window_cursor(window));
        return true;
    }
    window = window_open(__atomic_fetch_add(&image->streams, 1, __ATOMIC_RELAXED));
    if (window == NULL)
        return false;
    enter_window(w, window, window->slots[0]);
    return true;
}

/* The window is full: copy it and begin again at its start (where hs_window_cursor then has to begin, too). */
static bool turn_window(struct writer *w)
{
    if (!window_copy(w->window))
        return false;
    ended_of(w->window)->cursor = w->cursor = w->window->slots[0];
    return true;
}

/* First event of this thread in this image. */
static bool start_stream(struct writer *w)
{
    if (!hs_stream_start(w, image->number, open_stream, turn_window))
        return false;
    put_record(w, SPOOL_THREAD_START, stamp_shared(w), __atomic_fetch_add(&image->threads, 1, __ATOMIC_RELAXED));
    pthread_setspecific(end_key, w);
    return true;
}

static void announce_end(void *value)
{
    (void)value;
    struct writer *w = begin_call();
    if (w == NULL)
        return;
    sample_process(w);
    put_record(w, SPOOL_THREAD_EXIT, stamp_shared(w), 0);
    if (!w->ended) {
        w->ended = 1;
        lock(image);
        hs_window_leave(&image->ended, w);
        unlock(image);
    }
    end_call(w);
}

static void prepare(void)
{
    prepared = true;
    if (&__libc_single_threaded != NULL)
        single_thread = &__libc_single_threaded;
    real_resolve();
    pthread_key_create(&end_key, announce_end);
}

static bool is_begun(void)
{
    struct image *held = image; /* image_begin may change it */
    lock(held);
    bool begun = image->number != 0 || image_begin();
    unlock(held);
    return begun;
}

static bool find_room(struct writer *w)
{
    if (!prepared)
        prepare();
    if (!is_begun())
        return false;
    uint64_t began = stamp_now();
    bool found = w->image != image->number || w->window == NULL ? start_stream(w) : turn_window(w);
    if (found)
        sample_process(w);
    count_spool_time(stamp_now() - began);
    return found;
}

bool make_room(struct writer *w)
{
    if (w->patience > 0 && w->image == image->number) {
        w->patience--;
        count_drop();
        return false;
    }
    int saved_errno = errno;
    bool found = find_room(w);
    errno = saved_errno;
    if (!found) {
        w->patience = RETRY_EVENTS;
        count_drop();
    }
    return found;
}

/* Begin the image even if the program never allocates, and before it can have a second thread. */
__attribute__((constructor(101))) static void begin(void)
{
    struct writer *w = begin_call();
    if (w == NULL)
        return;
    python_find();
    end_call(w);
}

/* The last samples of a process that ends by exit(3), if its thread had an event. */
__attribute__((destructor)) static void end(void)
{
    struct writer *w = writer.image == image->number && writer.window != NULL ? begin_call() : NULL;
    if (w == NULL)
        return;
    sample_process(w);
    end_call(w);
}
