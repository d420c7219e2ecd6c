/* Frees most of its memory and then allocates a little now and then, until the library has given the pages back.
 * usage: run_decays MILLISECONDS (the delay of the library's design) */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BLOCKS = 4000, BLOCK_BYTES = 2000, RUNS = 40, RUN_BYTES = 100000, COARSE_MS = 20, ROUNDS = 2000 };

static void *block[BLOCKS];

static long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void come_and_go(int blocks, size_t bytes)
{
    for (int index = 0; index < blocks; index++)
        memset(block[index] = malloc(bytes), 1, bytes);
    for (int index = 0; index < blocks; index++)
        free(block[index]);
}

int main(int count, char **argument)
{
    long delay_ms = count == 2 ? atol(argument[1]) : 0;
    long begin = now_ms();
    come_and_go(BLOCKS, BLOCK_BYTES);
    come_and_go(RUNS, RUN_BYTES);
    size_t most = (size_t)BLOCKS * BLOCK_BYTES;
    for (int round = 0; round < ROUNDS; round++) {
        if (mallinfo2().arena < most / 2) {
            long elapsed = now_ms() - begin;
            if (elapsed < delay_ms - COARSE_MS)
                fprintf(stderr, "the pages went after %ld ms\n", elapsed);
            return elapsed < delay_ms - COARSE_MS;
        }
        usleep(5000);
        come_and_go(300, 64); /* more than a front holds */
    }
    fprintf(stderr, "%zu bytes are still committed\n", mallinfo2().arena);
    return 1;
}
