/* The functions of micro.h; nothing here allocates, not even stdio. */
#define _GNU_SOURCE
#include "micro.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { MOST_THREADS = 1024, BAD_USE = 2 };

char scratch[SCRATCH_BYTES] __attribute__((aligned(PAGE)));

static int arguments; /* without the program's name */
static char **argument;
static const char *use_text;
static uint64_t begun_wall_ns, begun_cpu_ns, ended_wall_ns, end_rss_bytes;

static void say(int file, const char *text)
{
    for (size_t left = strlen(text); left > 0;) {
        ssize_t written = write(file, text, left);
        if (written <= 0)
            _exit(1);
        text += written;
        left -= (size_t)written;
    }
}

static _Noreturn void stop(const char *use)
{
    say(2, use);
    say(2, "\n");
    _exit(BAD_USE);
}

int read_arguments(int count, char **value, int least, const char *use)
{
    arguments = count - 1;
    argument = value + 1;
    use_text = use;
    if (arguments < least)
        stop(use);
    if (is_stamped)
        stamps_prepare();
    return arguments;
}

long number(int index, long least, long most)
{
    char *end = "?";
    long value = index < arguments ? strtol(argument[index], &end, 10) : 0;
    if (*end != '\0' || value < least || value > most)
        stop(use_text);
    return value;
}

void **pointers(size_t count)
{
    void *table = mmap(NULL, count * sizeof(void *), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (table == MAP_FAILED)
        stop("no memory for the program's own table");
    return table;
}

void fill_sizes(uint32_t *sizes, int least, int shape)
{
    uint64_t low = (uint64_t)number(least, 8, SCRATCH_BYTES);
    uint64_t high = (uint64_t)number(least + 1, (long)low, SCRATCH_BYTES);
    const char *word = shape == IS_UNIFORM ? "uniform" : argument[shape];
    int skewed = strcmp(word, "skewed") == 0;
    if (!skewed && strcmp(word, "uniform") != 0)
        stop(use_text);
    for (uint64_t i = 0; i < SIZES; i++) {
        uint64_t skew = low * high * (SIZES - 1) / (high * (SIZES - 1) - i * (high - low));
        sizes[i] = (uint32_t)(skewed ? skew : low + i * (high - low) / (SIZES - 1));
    }
}

void on_threads(void *(*thread)(void *), void *items, size_t item_bytes, long count)
{
    pthread_t threads[MOST_THREADS];
    for (long i = 1; i < count; i++)
        if (count > MOST_THREADS || pthread_create(&threads[i], NULL, thread, (char *)items + (size_t)i * item_bytes) != 0)
            stop("a thread cannot be started");
    thread(items);
    for (long i = 1; i < count; i++)
        pthread_join(threads[i], NULL);
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* CPU time of this process and of the children that it waited for. */
static uint64_t cpu_ns(void)
{
    struct rusage children;
    getrusage(RUSAGE_CHILDREN, &children);
    uint64_t seconds = (uint64_t)(children.ru_utime.tv_sec + children.ru_stime.tv_sec);
    uint64_t microseconds = (uint64_t)(children.ru_utime.tv_usec + children.ru_stime.tv_usec);
    return clock_ns(CLOCK_PROCESS_CPUTIME_ID) + seconds * 1000000000u + microseconds * 1000u;
}

void start_clock(void)
{
    if (is_stamped)
        stamps_begin();
    begun_wall_ns = clock_ns(CLOCK_MONOTONIC);
    begun_cpu_ns = cpu_ns();
}

/* As proc_pid_statm(5) counts it. */
static uint64_t resident_bytes(int process)
{
    char text[128];
    snprintf(text, sizeof text, "/proc/%d/statm", process);
    int file = open(text, O_RDONLY);
    ssize_t length = read(file, text, sizeof text - 1);
    text[length > 0 ? length : 0] = '\0';
    close(file);
    char *resident = strchr(text, ' ');
    if (resident == NULL)
        stop("/proc/PID/statm cannot be read");
    return strtoul(resident, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

void settle(const int *processes, long count)
{
    ended_wall_ns = clock_ns(CLOCK_MONOTONIC);
    if (is_stamped || is_dry)
        return;
    sleep(1);
    end_rss_bytes = resident_bytes((int)getpid());
    for (long i = 0; i < count; i++)
        end_rss_bytes += resident_bytes(processes[i]);
}

int report(uint64_t checksum, uint64_t operations)
{
    uint64_t wall = (ended_wall_ns ? ended_wall_ns : clock_ns(CLOCK_MONOTONIC)) - begun_wall_ns, cpu = cpu_ns() - begun_cpu_ns;
    char line[1024], end[64] = "", stamps[600] = "";
    if (end_rss_bytes > 0)
        snprintf(end, sizeof end, ", \"end_rss_bytes\": %lu", end_rss_bytes);
    if (is_stamped)
        stamps_text(stamps, sizeof stamps);
    snprintf(line, sizeof line, "{\"operations\": %lu, \"wall_ns\": %lu, \"cpu_ns\": %lu%s%s}\n", operations, wall, cpu, end,
             stamps);
    say(2, line);
    snprintf(line, sizeof line, "%016lx\n", checksum);
    say(1, line);
    return 0;
}
