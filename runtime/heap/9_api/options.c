/* The environment variable HEAPSMITH: a comma-separated list of words, strictly parsed when the library is loaded. */
#define _GNU_SOURCE
#include "9_api/api.h"
#include "1_base/check.h"
#include "1_base/cold.h"
#include "1_base/libc.h"
#include "5_slab_policies/release/release.h"
#include "5_slab_policies/shards/shards.h"
#include "8_threads/thread.h"
#include "9_api/metrics.h"
#include "9_api/signals.h"
#include "9_api/stats.h"
#include "9_api/whole_file.h"

#include SAMPLING_API
#include SAMPLING_ROW

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { REPORT_PATIENCE = 1 << 20 }; /* turns that the report at exit waits for another: about a second */

/* Not 0, so that it lies beside data that each start writes: exit touches no page for it. */
enum { NOTHING = 1, STATS = 2, CHECK = 4, METRICS = 8, PROFILE = 16 };
static uint8_t asked_at_exit = NOTHING;
COLD_DATA static char stats_file[PATH_MAX]; /* empty: standard error */

/* Metrics: their file; the process that writes them, where no %p names each one's; how often, and when next. */
enum { SECOND_MS = 1000, MS_NS = 1000000 };
COLD_DATA static char metrics_file[PATH_MAX];
static pid_t metrics_of;
static bool metrics_of_classes, metrics_failed;
static uint64_t metrics_every_ms = 15 * SECOND_MS, metrics_due_ms;

/* The profile of samples: its file, and the process that writes it, where no %p names each one's. */
COLD_DATA static char profile_file[PATH_MAX];
static pid_t profile_of;

/* Standard error as it was at the start, under a descriptor of its own: many programs close theirs before the end. -1: none. */
static int first_stderr = -1;

/* Process id of who writes the report, else 0: a signal does not interrupt a report to begin another, and a child of fork
 * does not wait for a writer that it does not have. */
static int writer;
COLD_DATA static struct whole_file writes; /* of the writer */

static COLD void keep_stderr(void)
{
    note_standard();
    if (first_stderr < 0)
        first_stderr = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 64); /* out of the way of programs that count on low ones */
}

/* The descriptor that was kept, or that of standard error, unless the program has opened another file there; then -1. */
static COLD int report_descriptor(void)
{
    if (is_standard(first_stderr, STDERR_FILENO))
        return first_stderr;
    return is_standard(STDERR_FILENO, STDERR_FILENO) ? STDERR_FILENO : -1;
}

static COLD void warn(const char *what, const char *word, size_t length)
{
    note_standard();
    char shown[128] = "", line[TEXT_LINE];
    memcpy(shown, word, length < sizeof shown ? length : sizeof shown - 1);
    struct text out = text_to(report_descriptor(), line, sizeof line);
    text_string(&out, "heapsmith: HEAPSMITH: ");
    text_string(&out, what);
    text_string(&out, " ");
    text_quoted(&out, shown);
    text_string(&out, "\n");
    text_end(&out);
}

/* In one piece, so that processes that share a pipe do not mix; where the system refuses memory, in several. */
static COLD bool write_stats(int fd)
{
    enum { ROOM = 1 << 18 };
    char spare[TEXT_LINE];
    char *room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool is_mapped = room != MAP_FAILED;
    struct text out = is_mapped ? text_to(fd, room, ROOM) : text_to(fd, spare, sizeof spare);
    stats_json(&out);
    bool written = text_end(&out);
    if (is_mapped)
        munmap(room, ROOM);
    return written;
}

static COLD bool write_metrics(int fd)
{
    char room[4 * TEXT_LINE];
    struct text out = text_to(fd, room, sizeof room);
    metrics_text(&out, metrics_of_classes);
    return text_end(&out);
}

static COLD void report_stats(void)
{
    if (stats_file[0] == '\0')
        write_stats(report_descriptor());
    else if (!write_whole_file(&writes, stats_file, write_stats))
        warn("cannot write", stats_file, strlen(stats_file));
}

/* A child of fork writes a file of its own or none: the file is its parent's. */
static COLD bool is_own_file(const char *file, pid_t writer_of)
{
    return strstr(file, "%p") != NULL || writer_of == getpid();
}

/* Reports one of several failures. */
static COLD void report_metrics(void)
{
    if (!is_own_file(metrics_file, metrics_of) || write_whole_file(&writes, metrics_file, write_metrics) || metrics_failed)
        return;
    metrics_failed = true;
    warn("cannot write", metrics_file, strlen(metrics_file));
}

static COLD void report_profile(void)
{
    if (is_own_file(profile_file, profile_of) && !write_whole_file(&writes, profile_file, profile_write))
        warn("cannot write", profile_file, strlen(profile_file));
}

/* False if another report is being written. The thread must not be cancelled here: it would leave the exit of the process, or
 * it may have been interrupted with a lock in its hands. */
static COLD bool write_report(unsigned what)
{
    int cancel_state, none = __atomic_load_n(&writer, __ATOMIC_RELAXED), self = getpid();
    if (none == self || !__atomic_compare_exchange_n(&writer, &none, self, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return false;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    if (what & STATS)
        report_stats();
    if (what & METRICS)
        report_metrics();
    if (what & PROFILE)
        report_profile();
    pthread_setcancelstate(cancel_state, NULL);
    __atomic_store_n(&writer, 0, __ATOMIC_RELEASE);
    return true;
}

static COLD void report_now(void)
{
    write_report(STATS | (asked_at_exit & (METRICS | PROFILE)));
}

/* At slow paths: the thread that finds the time come, and moves it on, writes. No system call, for the vDSO has this clock. */
static COLD void metrics_look(void)
{
    int saved = errno;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    uint64_t ms = (uint64_t)now.tv_sec * SECOND_MS + (uint64_t)now.tv_nsec / MS_NS;
    uint64_t due = __atomic_load_n(&metrics_due_ms, __ATOMIC_RELAXED);
    if (ms >= due && __atomic_compare_exchange_n(&metrics_due_ms, &due, ms + metrics_every_ms, false, __ATOMIC_RELAXED,
                                                 __ATOMIC_RELAXED))
        write_report(METRICS);
    errno = saved;
}

static COLD bool report_on(const char *name)
{
    keep_stderr();
    return signal_does(name, strlen(name), report_now);
}

static COLD bool take_file(char room[PATH_MAX], const char *file, unsigned what)
{
    size_t length = strlen(file);
    if (length == 0 || length >= PATH_MAX)
        return false;
    memcpy(room, file, length + 1);
    asked_at_exit |= what;
    note_standard();
    return true;
}

static COLD bool report_to(const char *file)
{
    return take_file(stats_file, file, STATS);
}

static COLD bool metrics_to(const char *file)
{
    return take_file(metrics_file, file, METRICS);
}

static COLD bool profile_to(const char *file)
{
    if (!TAKES_SAMPLES) {
        warn("this library takes no samples:", "profile", strlen("profile"));
        return true;
    }
    profile_of = getpid();
    return take_file(profile_file, file, PROFILE);
}

/* A decimal number and nothing else, below 2^63. */
static COLD bool read_number(const char *digits, uint64_t *number)
{
    uint64_t found = 0;
    const char *digit = digits;
    for (; *digit >= '0' && *digit <= '9' && found < (uint64_t)1 << 59; digit++)
        found = found * 10 + (uint64_t)(*digit - '0');
    if (digit == digits || *digit != '\0')
        return false;
    *number = found;
    return true;
}

static COLD bool report_foreign_above(const char *digits)
{
    return read_number(digits, &stats_foreign_limit);
}

static COLD bool metrics_each(const char *digits)
{
    uint64_t seconds;
    if (!read_number(digits, &seconds) || seconds > UINT32_MAX)
        return false;
    metrics_every_ms = seconds * SECOND_MS;
    return true;
}

/* Designs that keep away from a limit use it; with others it is no mistake. */
static COLD bool limit_by(const char *digits)
{
    uint64_t bytes;
    if (!read_number(digits, &bytes))
        return false;
    release_limit(bytes);
    return true;
}

/* Bytes of requests from one sample to the next; 0: none are taken. A bad value where the design takes none. */
static COLD bool sample_each(const char *digits)
{
    uint64_t bytes;
    return read_number(digits, &bytes) && sampling_told(bytes);
}

/* SIGNAL or SIGNAL:BYTES. A bad value where the design takes no samples. */
static COLD bool sample_on(const char *value)
{
    const size_t name = strcspn(value, ":");
    uint64_t bytes = 0;
    if (value[name] == ':' && (!read_number(value + name + 1, &bytes) || bytes == 0))
        return false;
    return sampling_switches(bytes) && signal_does(value, name, sampling_switch);
}

/* Words with a value, and what takes it; false: it is none. */
static const struct {
    const char *name;
    bool (*take)(const char *value);
} valued[] = {
    { "stats=", report_to },
    { "stats-on=", report_on },
    { "foreign=", report_foreign_above },
    { "limit=", limit_by },
    { "nodes=", nodes_told },
    { "metrics=", metrics_to },
    { "metrics-every=", metrics_each },
    { "sample=", sample_each },
    { "sample-on=", sample_on },
    { "profile=", profile_to },
};

/* A word as it stands, '\0' behind it. */
static COLD void take_word(const char *word)
{
    size_t length = strlen(word);
    for (size_t index = 0; index < sizeof valued / sizeof valued[0]; index++) {
        size_t name = strlen(valued[index].name);
        if (strncmp(word, valued[index].name, name) != 0)
            continue;
        if (!valued[index].take(word + name))
            warn("bad value in", word, length);
        return;
    }
    if (strcmp(word, "stats") == 0) {
        asked_at_exit |= STATS;
        stats_file[0] = '\0';
        keep_stderr();
    } else if (strcmp(word, "metrics-classes") == 0) {
        metrics_of_classes = true;
    } else if (strcmp(word, "check") != 0) {
        warn("unknown word", word, length);
    } else if (HEAPSMITH_CHECKED) {
        asked_at_exit |= CHECK;
    } else {
        warn("this library was not built with --checked:", word, length);
    }
}

/* What follows the name; NULL if the text does not begin with it. */
static const char *behind(const char *text, const char *name)
{
    while (*name != '\0' && *text == *name)
        text++, name++;
    return *name == '\0' ? text : NULL;
}

/* Without getenv(3) and strncmp(3), which would bring pages of the C library in. NULL where the program has rights that its
 * caller lacks. */
static const char *options_in(char *const *environment)
{
    static const char variable[] = "HEAPSMITH="; /* an array: texts lie with what no start reads (apart.ld) */
    const char *list = NULL;
    while (*environment != NULL && list == NULL)
        list = behind(*environment++, variable);
    return list != NULL && getauxval(AT_SECURE) == 0 ? list : NULL;
}

/* Apart, so that only a start with options touches a page of the stack for the longest word. */
static COLD APART void take_options(const char *list)
{
    while (*list != '\0') {
        char word[PATH_MAX + 16];
        size_t length = strcspn(list, ",");
        bool fits = length < sizeof word;
        if (fits) {
            memcpy(word, list, length);
            word[length] = '\0';
            take_word(word);
        } else {
            warn("unknown word", list, length);
        }
        list += length + (list[length] == ',');
    }
}

/* The program may write over its environment later: nothing here points into it. */
__attribute__((constructor)) static void read_options(int count, char **arguments, char **environment)
{
    const char *list = options_in(ENVIRONMENT_AT_START(environment));
    if (list != NULL)
        take_options(list);
    release_limit_start();
    if (asked_at_exit & METRICS) {
        metrics_of = getpid();
        metrics_look();
        __atomic_store_n(&hs_slow_listener, metrics_look, __ATOMIC_RELAXED);
    }
}

/* At exit() and the end of main; not at _exit() nor when a signal kills the process. */
__attribute__((destructor)) static void at_exit(void)
{
    if (asked_at_exit & CHECK)
        heapsmith_check();
    const unsigned asked = asked_at_exit & (STATS | METRICS | PROFILE);
    for (int turn = 0; asked != 0 && turn < REPORT_PATIENCE && !write_report(asked); turn++)
        sched_yield();
}
