/* The child of fork starts threads that allocate, and they end. */
#include "behaviour.h"

#include <pthread.h>

static void *work(void *block)
{
    expect_filled(block, 400, 2);
    free(block);
    return filled_block(600, 3);
}

static void start_threads(void)
{
    for (int i = 0; i < 10; i++) {
        pthread_t thread;
        void *block;
        pthread_create(&thread, NULL, work, filled_block(400, 2));
        pthread_join(thread, &block);
        expect_filled(block, 600, 3);
        free(block);
    }
}

int main(void)
{
    start_threads();
    pid_t child = fork();
    if (child == 0) {
        start_threads();
        exit(0);
    }
    expect_success(child, "the child");
    start_threads();
    return 0;
}
