/* Threads that allocate, resize and free by turns of a random sequence, and stop where the test looks at what is live.
 *
 * live_set THREADS STEPS FILE: for each line of the input each thread makes STEPS steps; then "stopped" is printed, and FILE has
 * a line for each live block: its address and the bytes that may be used of it. A line "run" begins steps without end, which
 * the next line stops; "threads" has each thread end and another one go on in its place. */
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 3000, MOST_THREADS = 16 };

static unsigned threads;
static unsigned long steps;
static _Atomic(void *) slot[SLOTS]; /* any thread takes a block out or puts one in */
static pthread_barrier_t begins, stopped;
static atomic_int endless, renewed, over;
static pthread_t thread_of[MOST_THREADS];
static uint32_t state_of[MOST_THREADS];

static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

static size_t size_of(uint32_t draw)
{
    switch (draw % 64) {
    case 0:
        return 20000 + draw % 100000;
    case 1:
        return draw % 1000 == 1 ? 3000000 : 5000;
    default:
        return draw % 900;
    }
}

static void *made(uint32_t *state)
{
    uint32_t draw = next(state);
    size_t bytes = size_of(next(state));
    void *block = NULL;
    switch (draw % 8) {
    case 0:
        return calloc(1 + draw % 3, bytes / 2 + 1);
    case 1:
        return posix_memalign(&block, 64, bytes) == 0 ? block : NULL;
    case 2:
        return aligned_alloc(32, (bytes + 31) & ~(size_t)31);
    case 3:
        return reallocarray(NULL, 2, bytes + 1);
    case 4:
        return draw % 64 == 4 ? pvalloc(bytes + 1) : memalign(128, bytes + 1);
    default:
        return malloc(bytes);
    }
}

static void step(uint32_t *state)
{
    uint32_t draw = next(state);
    _Atomic(void *) *at = &slot[draw % SLOTS];
    void *block = atomic_exchange(at, NULL);
    if (block != NULL && draw % 5 == 0)
        block = realloc(block, 1 + size_of(next(state)));
    else if (block != NULL && draw % 3 != 0) {
        free(block);
        block = NULL;
    } else if (block == NULL)
        block = made(state);
    if (block != NULL)
        memset(block, 1, 1);
    block = atomic_exchange(at, block);
    free(block); /* another thread's, put there meanwhile */
}

static void *work(void *number);

static void renew(unsigned number)
{
    pthread_create(&thread_of[number], NULL, work, (void *)(uintptr_t)number);
}

static void *work(void *argument)
{
    unsigned number = (unsigned)(uintptr_t)argument;
    for (;;) {
        pthread_barrier_wait(&begins);
        if (over)
            return NULL;
        for (unsigned long done = 0; done < steps || endless; done++)
            step(&state_of[number]);
        pthread_barrier_wait(&stopped);
        if (renewed) {
            pthread_detach(pthread_self());
            renew(number);
            return NULL;
        }
    }
}

static void tell(const char *name)
{
    FILE *file = fopen(name, "w");
    for (unsigned at = 0; at < SLOTS; at++)
        if (slot[at] != NULL)
            fprintf(file, "%lu %zu\n", (unsigned long)(uintptr_t)slot[at], malloc_usable_size(slot[at]));
    fclose(file);
    puts("stopped");
    fflush(stdout);
}

int main(int count, char **words)
{
    char line[64];
    threads = (unsigned)atoi(words[1]);
    steps = strtoul(words[2], NULL, 10);
    pthread_barrier_init(&begins, NULL, threads + 1);
    pthread_barrier_init(&stopped, NULL, threads + 1);
    for (unsigned number = 0; number < threads; number++) {
        state_of[number] = 77 * number + 1;
        renew(number);
    }
    puts("ready");
    fflush(stdout);
    while (count > 3 && fgets(line, sizeof line, stdin) != NULL) {
        endless = strcmp(line, "run\n") == 0;
        renewed = strcmp(line, "threads\n") == 0;
        pthread_barrier_wait(&begins);
        if (endless) {
            puts("running");
            fflush(stdout);
            endless = fgets(line, sizeof line, stdin) == NULL;
        }
        pthread_barrier_wait(&stopped);
        tell(words[3]);
    }
    over = 1;
    pthread_barrier_wait(&begins);
    for (unsigned number = 0; number < threads; number++)
        pthread_join(thread_of[number], NULL);
    return 0;
}
