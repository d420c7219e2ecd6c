/* Two threads free blocks side by side at the same time: no block is taken for damaged. */
#include "behaviour.h"

#include <pthread.h>

enum { BLOCKS = 2000, ROUNDS = 300 };

static void *blocks[BLOCKS];
static pthread_barrier_t both;

static void *work(void *first)
{
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < BLOCKS && first == NULL; i++)
            fill(blocks[i] = malloc(40), 40, i);
        pthread_barrier_wait(&both);
        for (size_t i = (size_t)(uintptr_t)first; i < BLOCKS; i += 2)
            free(blocks[i]);
        pthread_barrier_wait(&both);
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    pthread_barrier_init(&both, NULL, 2);
    for (size_t i = 0; i < 2; i++)
        expect(pthread_create(&threads[i], NULL, work, (void *)i) == 0, "thread %zu could not be started", i);
    for (size_t i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
