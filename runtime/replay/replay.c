/* heapsmith-replay SCRIPT [--touch none|first|all] [--touched N,N,N,N] [--check | --latency] [--bytes] [--resident BYTES]
 * [--unsampled] [--started] [--stall-ms MS]: replay a script against the process's malloc; heapsmith-replay --malloc: print the
 * file that this malloc comes from. --started: ask for malloc's figures first, so that it has started although the script may
 * have no events. --stall-ms: end with status 1 where no stream has moved for so long (30,000; 0: never).
 *
 * Which malloc that is, LD_PRELOAD decides. A replay prints one JSON object to standard output. Needs nothing but
 * libc. Exit status: 0 replayed, 1 the malloc is wrong, 2 bad input. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "rss.h"
#include "waits.h"
#include "watchdog.h"

_Noreturn static void fail_with(int status, const char *prefix, const char *format, va_list arguments)
{
    char line[512];
    int used = snprintf(line, sizeof line, "%s", prefix);
    vsnprintf(line + used, sizeof line - (size_t)used, format, arguments);
    dprintf(2, "%s\n", line);
    _exit(status);
}

_Noreturn void fail(int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail_with(status, "", format, arguments);
}

_Noreturn void fail_event(const struct worker *w, const struct event *event, const char *format, ...)
{
    char prefix[96];
    va_list arguments;
    snprintf(prefix, sizeof prefix, "thread %u, its event %lu: ", w->stream, number_of(w, event));
    va_start(arguments, format);
    fail_with(1, prefix, format, arguments);
}

/* A line as "RssAnon: N kB" of /proc/self/status, proc_pid_status(5). */
static uint64_t status_bytes(const char *field)
{
    char text[4096];
    int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t n = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (n < 0)
        fail(2, "replay: /proc/self/status: %s", strerror(errno));
    close(file);
    text[n] = '\0';
    const char *line = strstr(text, field);
    if (line == NULL)
        fail(2, "replay: /proc/self/status has no %s (Linux 4.5 or later has)", field);
    return strtoull(line + strlen(field), NULL, 10) * 1024;
}

uint64_t rss_anon_bytes(void)
{
    return status_bytes("RssAnon:");
}

/* Let the kernel note the peak RSS from here on; proc_pid_clear_refs(5), Linux 4.0. */
static bool note_peak(void)
{
    int file = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    bool noted = file >= 0 && write(file, "5", 1) == 1;
    if (file >= 0)
        close(file);
    return noted;
}

/* The pages of files, which are in the RSS too. */
static uint64_t rss_file_bytes(void)
{
    return status_bytes("RssFile:") + status_bytes("RssShmem:");
}

/* What the noted peak says of RssAnon between two samples; `files` were resident when the kernel began to note it. They
 * become more as the library runs, and less only if the kernel needs the script's pages. */
static uint64_t noted_peak_bytes(uint64_t files)
{
    uint64_t peak = status_bytes("VmHWM:"), now = rss_file_bytes();
    files = now > files ? now : files;
    return peak > files ? peak - files : 0;
}

static uint64_t clock_ns(int clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct spent spent_by(int who, int clock)
{
    struct rusage used;
    getrusage(who, &used);
    return (struct spent){clock_ns(CLOCK_MONOTONIC), clock_ns(clock), (uint64_t)used.ru_minflt};
}

/* The replayer's own memory: a mapping, never malloc's, and resident before the first sample. */
static void *reserve(struct replay *r, uint64_t bytes)
{
    uint64_t pages = (bytes / PAGE_BYTES + 1) * PAGE_BYTES;
    void *memory = mmap(NULL, pages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED)
        fail(2, "replay: %lu bytes for the block table: %s", bytes, strerror(errno));
    r->own_bytes += pages;
    return memory;
}

static void prepare(struct replay *r, const char *path)
{
    r->script = script_open(path, r->resident_limit_bytes);
    const struct script_header *h = r->script.header;
    r->table = reserve(r, h->slots * sizeof *r->table);
    r->workers = reserve(r, h->streams * sizeof *r->workers);
    for (uint32_t t = 0; t < h->streams; t++)
        r->workers[t] = (struct worker){.replay = r, .stream = t, .sample = r->script.first_sample[t],
                                        .samples_end = r->unsampled ? 0 : r->script.first_sample[t + 1]};
    rss_prepare(r);
    if (h->streams > 1)
        pace_prepare(&r->pace, &r->script, reserve(r, h->segments * sizeof *r->pace.left));
    if (!r->stamped)
        return;
    struct latency *all = reserve(r, 2 * h->streams * sizeof *all);
    for (uint32_t t = 0; t < h->streams; t++)
        r->workers[t].latency = &all[2 * t];
    r->stamp = latency_calibrate();
}

/* Every stream, then the threads that no later spawn had to wait for. */
static void replay_all(struct replay *r)
{
    stream_replay(&r->workers[0]);
    for (uint32_t t = 1; t < r->script.header->streams; t++)
        worker_join(&r->workers[0], r->workers[0].position, &r->workers[t]);
}

/* What the replay spent without its pauses, but with the spins of its waits. */
static struct spent measure(struct replay *r)
{
    struct spent before = spent_by(RUSAGE_SELF, CLOCK_PROCESS_CPUTIME_ID);
    replay_all(r);
    struct spent sum = spent_by(RUSAGE_SELF, CLOCK_PROCESS_CPUTIME_ID);
    sum.wall_ns -= before.wall_ns;
    sum.cpu_ns -= before.cpu_ns;
    sum.minor_faults -= before.minor_faults;
    for (uint32_t t = 0; t < r->script.header->streams; t++) {
        sum.cpu_ns -= r->workers[t].paused.cpu_ns;
        sum.minor_faults -= r->workers[t].paused.minor_faults;
    }
    if (r->script.header->streams == 1) /* with more, one thread's pause is not the others' */
        sum.wall_ns -= r->workers[0].paused.wall_ns;
    return sum;
}

static uint64_t stalls(const struct replay *r)
{
    uint64_t sum = 0;
    for (uint32_t t = 0; t < r->script.header->streams; t++)
        sum += r->workers[t].stalls;
    return sum;
}

static uint64_t spins(const struct replay *r)
{
    uint64_t sum = 0;
    for (uint32_t t = 0; t < r->script.header->streams; t++)
        sum += r->workers[t].spins;
    return sum;
}

static const char *malloc_file(void)
{
    Dl_info found;
    void *address = dlsym(RTLD_DEFAULT, "malloc");
    return address != NULL && dladdr(address, &found) != 0 ? found.dli_fname : "unknown";
}

/* The distributions of all threads, or null. tick_ns: nanoseconds of a tick. */
static int stamps_text(const struct replay *r, double tick_ns, char *text, size_t room)
{
    struct latency *sum = r->workers[0].latency;
    if (!r->stamped)
        return snprintf(text, room, "\"latency_ns\": null");
    for (uint32_t t = 1; t < r->script.header->streams; t++)
        for (int frees = 0; frees < 2; frees++)
            latency_merge(&sum[frees], &r->workers[t].latency[frees]);
    char whole[256], allocate[256], release[256];
    latency_text(&sum[0], r->stamp, tick_ns, allocate, sizeof allocate);
    latency_text(&sum[1], r->stamp, tick_ns, release, sizeof release);
    latency_merge(&sum[0], &sum[1]);
    latency_text(&sum[0], r->stamp, tick_ns, whole, sizeof whole);
    return snprintf(text, room, "\"latency_ns\": %s, \"malloc_ns\": %s, \"free_ns\": %s", whole, allocate, release);
}

/* RSS without the replayer's own tables, but with what the library took before the first event: it is paid for too. One
 * write(2): dprintf(3) asks the malloc under test for its buffer, and its counters would not be the trace's. */
static void report(const struct replay *r, struct spent sum, uint64_t start, uint64_t end, double tick_ns)
{
    const struct script_header *h = r->script.header;
    uint64_t own = r->own_bytes, peak = r->rss_peak_bytes > end ? r->rss_peak_bytes : end;
    uint64_t average = r->rss_instants > 0 ? r->rss_sum_bytes / r->rss_instants : end;
    char text[3072], stamps[1024], bytes[400];
    stamps_text(r, tick_ns, stamps, sizeof stamps);
    bytes_text(&r->bytes, bytes, sizeof bytes);
    int n = snprintf(text, sizeof text,
                     "{\"operations\": %lu, \"threads\": %u, \"checked\": %s,\n"
                     " \"wall_ns\": %lu, \"cpu_ns\": %lu, \"minor_faults\": %lu, \"stalls\": %lu,\n"
                     " \"start_rss_bytes\": %lu, \"peak_rss_bytes\": %lu, \"average_rss_bytes\": %lu,\n"
                     " \"peak_live_rss_bytes\": %lu, \"end_rss_bytes\": %lu,\n"
                     " %s, \"bytes\": %s}\n",
                     h->operations, h->streams, r->checked ? "true" : "false", sum.wall_ns, sum.cpu_ns,
                     sum.minor_faults, stalls(r), start - own, peak - own, average - own,
                     r->rss_peak_live_bytes - own, end - own, stamps, bytes);
    if (write(1, text, (size_t)n) != n)
        fail(2, "replay: standard output: %s", strerror(errno));
}

static enum touch parse_touch(const char *name)
{
    static const char *const names[] = {"none", "first", "all"};
    for (int i = 0; i < 3; i++)
        if (name != NULL && strcmp(name, names[i]) == 0)
            return (enum touch)i;
    fail(2, "replay: --touch wants none, first or all, not '%s'", name != NULL ? name : "");
}

static void parse_touched(const char *shares, uint32_t *touched)
{
    char end;
    if (shares == NULL || sscanf(shares, "%u,%u,%u,%u%c", &touched[0], &touched[1], &touched[2], &touched[3], &end) != TOUCHED_SIZES)
        fail(2, "replay: --touched wants four numbers of 1,024, as 1024,1024,512,0, not '%s'", shares != NULL ? shares : "");
    for (int i = 0; i < TOUCHED_SIZES; i++)
        if (touched[i] > 1u << SHARE_BITS)
            fail(2, "replay: --touched: %u is above 1024", touched[i]);
}

static const char *parse(int argc, char **argv, struct replay *r)
{
    const char *path = NULL;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--check") == 0)
            r->checked = true;
        else if (strcmp(argv[i], "--latency") == 0)
            r->stamped = true;
        else if (strcmp(argv[i], "--bytes") == 0)
            r->counts_bytes = true;
        else if (strcmp(argv[i], "--touch") == 0)
            r->touch = parse_touch(argv[++i]);
        else if (strcmp(argv[i], "--touched") == 0)
            parse_touched(argv[++i], r->touched);
        else if (strcmp(argv[i], "--resident") == 0 && argv[i + 1] != NULL)
            r->resident_limit_bytes = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--stall-ms") == 0 && argv[i + 1] != NULL)
            r->stall_ms = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--unsampled") == 0)
            r->unsampled = true;
        else if (strcmp(argv[i], "--started") == 0)
            bytes_figures();
        else if (path == NULL && argv[i][0] != '-')
            path = argv[i];
        else
            fail(2, "replay: unknown argument '%s'", argv[i]);
    if (path == NULL || (r->checked && r->stamped))
        fail(2, "usage: heapsmith-replay SCRIPT [--touch none|first|all] [--touched N,N,N,N] [--check | --latency] [--bytes] [--resident BYTES] [--unsampled] "
                "[--started] [--stall-ms MS] | --malloc");
    return path;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--malloc") == 0)
        return dprintf(1, "%s\n", malloc_file()) < 0;
    struct replay r = {.touch = TOUCH_ALL, .touched = {1u << SHARE_BITS, 1u << SHARE_BITS, 1u << SHARE_BITS, 1u << SHARE_BITS}, .resident_limit_bytes = 1ull << 30, .stall_ms = 30000,
                       .pace = {.lock = PTHREAD_MUTEX_INITIALIZER, .raised = PTHREAD_COND_INITIALIZER}};
    prepare(&r, parse(argc, argv, &r));
    uint64_t start = rss_anon_bytes();
    r.rss_peak_bytes = start;
    r.rss_peak_live_bytes = start;
    uint64_t files = rss_file_bytes(), peak = 0;
    bool noted = r.script.resident && !r.unsampled && note_peak();
    uint64_t begun_ns = clock_ns(CLOCK_MONOTONIC), begun = arch_clock();
    waits_watch(&r, r.stall_ms);
    struct spent sum = measure(&r);
    watchdog_stop();
    if (noted && (peak = noted_peak_bytes(files)) > r.rss_peak_bytes)
        r.rss_peak_bytes = peak;
    double tick_ns = (double)(clock_ns(CLOCK_MONOTONIC) - begun_ns) / (double)(arch_clock() - begun);
    sum.cpu_ns -= (uint64_t)((double)spins(&r) * spin_ticks() * tick_ns);
    report(&r, sum, start, rss_anon_bytes(), tick_ns);
    return 0;
}
