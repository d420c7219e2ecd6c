/* Four producers give blocks of 5001 to 5004 bytes to one consumer, which frees them; then all end. */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>

enum { PRODUCERS = 4, BLOCKS = 1000 };

static void *handed[PRODUCERS][BLOCKS];

static void *produce(void *which)
{
    uintptr_t me = (uintptr_t)which;
    for (int i = 0; i < BLOCKS; i++)
        __atomic_store_n(&handed[me][i], malloc(5001 + me), __ATOMIC_RELEASE);
    return NULL;
}

static void *consume(void *unused)
{
    (void)unused;
    for (int i = 0; i < BLOCKS; i++)
        for (int p = 0; p < PRODUCERS; p++) {
            void *block;
            while ((block = __atomic_load_n(&handed[p][i], __ATOMIC_ACQUIRE)) == NULL)
                sched_yield();
            free(block);
        }
    return NULL;
}

int main(void)
{
    pthread_t threads[PRODUCERS + 1];
    for (uintptr_t p = 0; p < PRODUCERS; p++)
        pthread_create(&threads[p], NULL, produce, (void *)p);
    pthread_create(&threads[PRODUCERS], NULL, consume, NULL);
    for (int i = 0; i <= PRODUCERS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
