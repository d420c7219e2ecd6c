/* fork while other threads allocate: each child can allocate and free, what its parent's threads held too. */
#include "behaviour.h"

#include <pthread.h>
#include <stdatomic.h>

static atomic_bool stop;
static void *kept[2][100];

static void *work(void *row)
{
    void **blocks = row;
    for (size_t i = 0; i < 100; i++)
        blocks[i] = filled_block(10 + i * 30, i);
    for (size_t i = 0; !stop; i++) {
        free(malloc(i % 3000));
        if (i % 50 == 0)
            free(malloc(200000));
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[2];
    for (size_t i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, kept[i]);
    for (int round = 0; round < 6; round++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(120);
            for (size_t i = 0; i < COUNT_OF(TIERS); i++)
                free(filled_block(TIERS[i] / 8 + 1, i));
            if (round > 3)
                for (size_t i = 0; i < 100; i++)
                    free(kept[round % 2][i]);
            exit(0);
        }
        expect_success(child, "a child");
    }
    stop = true;
    for (size_t i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
