/* The watchdog is a timer of the process, whose signal any thread may get, and no thread: a thread would be an allocation more
 * in the malloc that is looked at, and would end what glibc does faster for a process of one thread.
 *
 * It counts the timer's ticks, not time. A process that was stopped finds one tick when it goes on, however long that was. */
#include "watchdog.h"

#include <signal.h>
#include <stddef.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/time.h>

enum {
    TICKS = 10,     /* of a limit */
    FEW_FAULTS = 16 /* in a tick: a kernel that moves pages between nodes makes some in a thread that waits, too */
};

static uint64_t (*progress_of)(void);
static void (*end_stuck)(void);
static _Atomic uint64_t last_progress, last_faults;
static _Atomic uint32_t still; /* ticks */

static uint64_t faults(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (uint64_t)(used.ru_minflt + used.ru_majflt);
}

static void watchdog_tick(int signal)
{
    (void)signal;
    uint64_t progress = progress_of(), now = faults();
    uint64_t faulted = now - atomic_exchange(&last_faults, now);
    if (progress != atomic_exchange(&last_progress, progress) || faulted > FEW_FAULTS)
        atomic_store(&still, 0);
    else if (atomic_fetch_add(&still, 1) + 1 >= TICKS)
        end_stuck();
}

static void set_timer(uint64_t tick_us)
{
    struct timeval tick = {(time_t)(tick_us / 1000000), (suseconds_t)(tick_us % 1000000)};
    setitimer(ITIMER_REAL, &(struct itimerval){tick, tick}, NULL);
}

void watchdog_start(uint64_t limit_ms, uint64_t (*progress)(void), void (*stuck)(void))
{
    progress_of = progress;
    end_stuck = stuck;
    atomic_store(&last_progress, progress());
    atomic_store(&last_faults, faults());
    atomic_store(&still, 0);
    sigaction(SIGALRM, &(struct sigaction){.sa_handler = watchdog_tick, .sa_flags = SA_RESTART}, NULL);
    set_timer(limit_ms * 1000 / TICKS);
}

void watchdog_stop(void)
{
    set_timer(0);
}
