/* idle THREADS BLOCKS: a server of many threads that mostly wait. Each allocates BLOCKS blocks of 16 to 1,024 bytes, frees
 * all but each 16th, and waits until all have. Standard output: resident KiB then, and CPU ms of the process so far. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_BLOCKS = 1 << 16, LEAST_BYTES = 16, MOST_BYTES = 1024, KEPT_OF = 16, MS_PER_S = 1000, NS_PER_MS = 1000000 };

static long blocks;
static pthread_barrier_t all_wait, measured;

/* Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8(14), 2003. */
static uint32_t draw(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static void *serve(void *with)
{
    uint32_t state = (uint32_t)(uintptr_t)with;
    void **block = calloc((size_t)blocks, sizeof *block);
    for (long index = 0; block != NULL && index < blocks; index++) {
        size_t bytes = LEAST_BYTES + draw(&state) % (MOST_BYTES - LEAST_BYTES + 1);
        block[index] = malloc(bytes);
        if (block[index] != NULL)
            memset(block[index], 1, bytes);
    }
    for (long index = 0; block != NULL && index < blocks; index++)
        if (index % KEPT_OF != 0)
            free(block[index]);
    pthread_barrier_wait(&all_wait);
    pthread_barrier_wait(&measured);
    return NULL;
}

static long resident_kib(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%*d %ld", &pages) != 1)
        exit(3);
    fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

int main(int count, char **argument)
{
    long threads = count == 3 ? atol(argument[1]) : 0;
    blocks = count == 3 ? atol(argument[2]) : 0;
    if (threads < 1 || blocks < 1 || blocks > MOST_BLOCKS)
        return 2;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 1 << 17);
    pthread_barrier_init(&all_wait, NULL, (unsigned)threads + 1);
    pthread_barrier_init(&measured, NULL, (unsigned)threads + 1);
    for (long index = 0; index < threads; index++) {
        pthread_t thread;
        if (pthread_create(&thread, &attributes, serve, (void *)(uintptr_t)(index + 1)) != 0)
            return 3;
    }
    pthread_barrier_wait(&all_wait);
    struct timespec cpu;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    printf("%ld %ld\n", resident_kib(), (long)(cpu.tv_sec * MS_PER_S + cpu.tv_nsec / NS_PER_MS));
    pthread_barrier_wait(&measured);
    return fflush(stdout) != 0;
}
