/* A thread forks: its child has that thread alone, which allocates and ends the process. */
#include "behaviour.h"

#include <pthread.h>

static void *work(void *block)
{
    pid_t child = fork();
    if (child == 0) {
        expect_filled(block, 900, 7);
        free(block);
        free(filled_block(50000, 1));
        pthread_exit(NULL); /* the last thread: the process ends with status 0 */
    }
    expect_success(child, "the child");
    free(block);
    return NULL;
}

int main(void)
{
    for (int i = 0; i < 5; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, work, filled_block(900, 7));
        pthread_join(thread, NULL);
    }
    return 0;
}
