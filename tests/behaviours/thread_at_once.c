/* Eight threads allocate, resize and free at once; each finds in its blocks what it wrote. */
#include "behaviour.h"

#include <pthread.h>

static void *work(void *number)
{
    void *blocks[100] = {NULL};
    size_t bytes[100] = {0};
    unsigned seed = (unsigned)(uintptr_t)number;
    for (int step = 0; step < 1500; step++) {
        size_t i = (size_t)rand_r(&seed) % 100, next = (size_t)rand_r(&seed) % (step % 64 ? 1000 : 70000);
        expect_filled(blocks[i], bytes[i], i);
        if (step % 4 == 0) {
            blocks[i] = realloc(blocks[i], next + 1);
            expect_filled(blocks[i], bytes[i] < next ? bytes[i] : next, i);
        } else {
            free(blocks[i]);
            blocks[i] = step % 4 == 1 ? memalign(64, next) : malloc(next);
        }
        fill(blocks[i], bytes[i] = next, i);
    }
    for (size_t i = 0; i < 100; i++)
        free(blocks[i]);
    return NULL;
}

int main(void)
{
    pthread_t threads[8];
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        expect(pthread_create(&threads[i], NULL, work, (void *)(i + 1)) == 0, "thread %zu could not be started", i);
    for (size_t i = 0; i < COUNT_OF(threads); i++)
        pthread_join(threads[i], NULL);
    return 0;
}
