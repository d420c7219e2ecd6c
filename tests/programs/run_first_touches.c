/* Page faults of a new thread's first allocations and frees, and the pages that came with them. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { SIZES = 64, MANY = 6000, MANY_BYTES = 1000 };
static void *block[SIZES], *many[MANY];
static char output[64];

static long faults(void)
{
    struct rusage used;
    getrusage(RUSAGE_THREAD, &used);
    return used.ru_minflt;
}

static long anonymous_kib(void)
{
    static char text[4096];
    int file = open("/proc/self/smaps_rollup", O_RDONLY);
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    text[length > 0 ? length : 0] = '\0';
    const char *found = strstr(text, "Anonymous:");
    return found != NULL ? atol(found + strlen("Anonymous:")) : -1;
}

/* Nothing but the library touches memory: blocks stay as they are. */
static void use_small(void)
{
    for (int index = 0; index < SIZES; index++) {
        free(index % 2 == 0 ? block[index] : NULL);
        block[index] = malloc((size_t)(1 + index) * 250);
    }
}

static void use_many(int count)
{
    for (int index = 0; index < count; index++)
        many[index] = malloc(MANY_BYTES);
    for (int index = 0; index < count; index++)
        free(many[index]);
}

static void *in_thread(void *unused)
{
    anonymous_kib();
    long kib = anonymous_kib(), before = faults();
    use_small();
    use_many(MANY);
    long taken = faults() - before;
    printf("%ld %ld\n", taken, (anonymous_kib() - kib) / 4);
    return unused;
}

int main(void)
{
    pthread_t thread;
    setvbuf(stdout, output, _IOFBF, sizeof output);
    use_small();
    use_many(MANY / 3); /* what threads share has its first touches */
    if (pthread_create(&thread, NULL, in_thread, NULL) != 0)
        return 1;
    pthread_join(thread, NULL);
    return 0;
}
