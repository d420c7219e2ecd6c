/* Threads hand blocks to each other, resize and free them; then a child allocates, and memory is cleared and moved. Prints the
 * bytes that were not as they were left, and what the child found. Plain C and POSIX, for any processor and C library. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, PLACES = 256, ROUNDS = 3000, MANY = 20000 };

static unsigned char *place[PLACES];

static long spoilt(const unsigned char *block, size_t from, size_t bytes, int with)
{
    long bad = 0;
    for (size_t at = from; at < bytes; at++)
        bad += block[at] != with;
    return bad;
}

static void *work(void *number)
{
    uint32_t drawn = (uint32_t)(uintptr_t)number * 7919 + 1;
    long bad = 0;
    for (int round = 0; round < ROUNDS; round++) {
        drawn = drawn * 1103515245 + 12345;
        size_t bytes = 16 + (drawn >> 8) % (drawn % 61 == 0 ? 300000 : 700);
        unsigned char *block = malloc(bytes);
        memset(block, (int)(bytes & 255), bytes);
        memcpy(block, &bytes, sizeof bytes);
        block = __atomic_exchange_n(&place[(drawn >> 16) % PLACES], block, __ATOMIC_ACQ_REL);
        if (block == NULL)
            continue;
        memcpy(&bytes, block, sizeof bytes);
        bad += spoilt(block, sizeof bytes, bytes, (int)(bytes & 255));
        if (round % 5 == 0) {
            block = realloc(block, 2 * bytes);
            bad += spoilt(block, sizeof bytes, bytes, (int)(bytes & 255));
        }
        free(block);
    }
    return (void *)bad;
}

static int child_allocates(void)
{
    pid_t child = fork();
    if (child == 0) {
        unsigned char *block = calloc(1, MANY);
        _exit(block == NULL || spoilt(block, 0, MANY, 0) != 0);
    }
    int status;
    return waitpid(child, &status, 0) == child ? status : -1;
}

int main(void)
{
    pthread_t thread[THREADS];
    long bad = 0;
    for (uintptr_t number = 0; number < THREADS; number++)
        if (pthread_create(&thread[number], NULL, work, (void *)number) != 0)
            return 3;
    for (int number = 0; number < THREADS; number++) {
        void *found;
        pthread_join(thread[number], &found);
        bad += (long)found;
    }
    void *aligned = NULL;
    bad += posix_memalign(&aligned, 4096, 100) != 0 || (uintptr_t)aligned % 4096 != 0;
    free(aligned);
    printf("%ld %d\n", bad, child_allocates());
    return 0;
}
