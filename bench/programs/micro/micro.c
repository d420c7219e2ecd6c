/* The functions of micro.h; nothing here allocates, not even stdio. */
#define _GNU_SOURCE
#include "micro.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { MOST_THREADS = 256, BAD_USE = 2 };

char scratch[SCRATCH_BYTES] __attribute__((aligned(PAGE)));

static int arguments; /* without the program's name */
static char **argument;
static const char *use_text;
static uint64_t begun_wall_ns, begun_cpu_ns;

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
    begun_wall_ns = clock_ns(CLOCK_MONOTONIC);
    begun_cpu_ns = cpu_ns();
}

int report(uint64_t checksum, uint64_t operations)
{
    uint64_t wall = clock_ns(CLOCK_MONOTONIC) - begun_wall_ns, cpu = cpu_ns() - begun_cpu_ns;
    char line[160];
    snprintf(line, sizeof line, "{\"operations\": %lu, \"wall_ns\": %lu, \"cpu_ns\": %lu}\n", operations, wall, cpu);
    say(2, line);
    snprintf(line, sizeof line, "%016lx\n", checksum);
    say(1, line);
    return 0;
}
