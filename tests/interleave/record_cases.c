/* The streams of a recording (runtime/heap/9_api/sampling/record.c): threads that end leave their windows to one that begins, which
 * goes on behind their last record. The recorder's own (runtime/recorder/stream.c) has the same lock and list. */
#include "explore.h"

#include "1_base/arch/arch.h"
#include "1_base/spool/spool.h"

#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ENDING = THREADS - 1, RECORDS = 2, FIRST_ID = 100 };

static uint64_t is_dead[ENDING]; /* the kernel no longer knows the thread */
static uint64_t taken;           /* 1 + the window */
static __thread int self, of_call;

/* An ended thread's last accesses come before the kernel's answer. */
static long system_call(long number, int thread)
{
    if (number == SYS_gettid)
        return FIRST_ID + self;
    if (number == SYS_sched_yield)
        return sched_yield();
    of_call = ESRCH;
    return __atomic_load_n(&is_dead[thread - FIRST_ID], __ATOMIC_ACQUIRE) ? -1 : 0;
}

#undef errno
#define errno of_call
#define syscall(number, ...) SYSTEM_CALL(number, ##__VA_ARGS__, 0, 0)
#define SYSTEM_CALL(number, process, thread, ...) system_call(number, thread)
#define arch_stamp(place) (*(place) = 0, UINT64_C(1))
#define getpid() 1
#include "1_base/spool/windows.c"
#include "9_api/sampling/record.c"
#undef errno
#undef syscall

static struct recording_here page;
static struct {
    struct window window;
    struct ended ended; /* behind it, as ended_of expects */
} windows[ENDING];

static uint64_t number_of(const struct window *window)
{
    return (uint64_t)((const char *)window - (const char *)windows) / sizeof windows[0];
}

static void setup(void)
{
    hs_recording_here = &page;
    hs_recording.number = page.number = 1;
    share("recording", &hs_recording.number, sizeof hs_recording.number);
    share("here", &hs_recording_here, sizeof hs_recording_here);
    share("page", &page, sizeof page);
    for (int thread = 0; thread < ENDING; thread++) {
        struct window *window = &windows[thread].window;
        share("records", window->slots, (RECORDS + 1) * sizeof window->slots[0]);
        share("of the end", ended_of(window), sizeof *ended_of(window));
        share("is_dead", &is_dead[thread], sizeof is_dead[thread]);
    }
    share("taken", &taken, sizeof taken);
}

/* It says that it ends, and frees once more. */
static void end_thread(int thread)
{
    struct window *window = &windows[thread].window;
    struct writer *w = &hs_writer;
    self = thread;
    *w = (struct writer){ .cursor = window->slots[0], .limit = window_end(window), .image = 1, .window = window };
    announce_end(w);
    put_record(w, SPOOL_FREE, 1, 1);
    __atomic_store_n(&is_dead[thread], 1, __ATOMIC_RELEASE);
}

static void end_or_begin(int thread)
{
    if (thread < ENDING) {
        end_thread(thread);
        return;
    }
    lock_here();
    struct window *window = hs_window_take(&hs_recording_here->ended);
    unlock_here();
    if (window != NULL) {
        taken = 1 + number_of(window);
        expect(hs_window_cursor(window) == window->slots[RECORDS], "a record is written over");
    }
}

/* Each window is on the list, but for the one that was taken. */
static uint64_t each_once(void)
{
    uint64_t seen = taken > 0 ? UINT64_C(1) << (taken - 1) : 0;
    for (struct window *window = page.ended; window != NULL; window = ended_of(window)->next) {
        expect((seen >> number_of(window) & 1) == 0, "a window is there twice");
        seen |= UINT64_C(1) << number_of(window);
    }
    expect(seen == 3 && page.lock == 0, "a window is lost");
    return taken;
}

static const struct explored all[] = {
    { "record_3", 3, 0, setup, end_or_begin, 0, each_once },
    { 0 },
};
const struct explored *const cases = all;
