/* A thread frees what another allocated, while both go on. */
#include "behaviour.h"

#include <pthread.h>

static void *blocks[2][1500];

static size_t bytes_of(size_t i)
{
    return i % 100 ? 1 + i % 2000 : 50000;
}

static void *allocate(void *row)
{
    for (size_t i = 0; i < COUNT_OF(blocks[0]); i++)
        ((void **)row)[i] = filled_block(bytes_of(i), i);
    return NULL;
}

static void *check_and_free(void *row)
{
    for (size_t i = 0; i < COUNT_OF(blocks[0]); i++) {
        expect_filled(((void **)row)[i], bytes_of(i), i);
        free(((void **)row)[i]);
    }
    return NULL;
}

int main(void)
{
    for (int round = 0; round < 2; round++) {
        pthread_t thread;
        allocate(blocks[0]);
        pthread_create(&thread, NULL, check_and_free, blocks[0]);
        allocate(blocks[1]);
        pthread_join(thread, NULL);
        pthread_create(&thread, NULL, allocate, blocks[0]);
        check_and_free(blocks[1]);
        pthread_join(thread, NULL);
        check_and_free(blocks[0]);
    }
    return 0;
}
