/* Threads that free many huge blocks each, all at once, round after round. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 8, BLOCKS = 64, ROUNDS = 100, BYTES = 1 << 19 };

static pthread_barrier_t together;

static void *work(void *unused)
{
    void *block[BLOCKS];
    for (int round = 0; round < ROUNDS; round++) {
        for (int number = 0; number < BLOCKS; number++)
            block[number] = malloc(BYTES);
        pthread_barrier_wait(&together);
        for (int number = 0; number < BLOCKS; number++)
            free(block[number]);
    }
    return unused;
}

int main(void)
{
    pthread_t thread[THREADS];
    pthread_barrier_init(&together, NULL, THREADS);
    for (int number = 0; number < THREADS; number++)
        if (pthread_create(&thread[number], NULL, work, NULL) != 0)
            abort();
    for (int number = 0; number < THREADS; number++)
        pthread_join(thread[number], NULL);
    return 0;
}
