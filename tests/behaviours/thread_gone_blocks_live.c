/* The blocks of a thread that has ended live on: others read, resize and free them. */
#include "behaviour.h"

#include <pthread.h>

static void *allocate(void *unused)
{
    (void)unused;
    void **blocks = malloc(COUNT_OF(TIERS) * sizeof *blocks);
    for (size_t i = 0; i < COUNT_OF(TIERS); i++)
        blocks[i] = filled_block(TIERS[i] / 4 + 1, i);
    return blocks;
}

int main(void)
{
    void **rows[4];
    for (size_t t = 0; t < COUNT_OF(rows); t++) {
        pthread_t thread;
        pthread_create(&thread, NULL, allocate, NULL);
        pthread_join(thread, (void **)&rows[t]);
    }
    for (size_t t = 0; t < COUNT_OF(rows); t++) {
        for (size_t i = 0; i < COUNT_OF(TIERS); i++) {
            expect_filled(rows[t][i], TIERS[i] / 4 + 1, i);
            void *block = t % 2 ? realloc(rows[t][i], TIERS[i] / 2 + 3) : rows[t][i];
            expect_filled(block, TIERS[i] / 4 + 1, i);
            free(block);
        }
        free(rows[t]);
    }
    return 0;
}
