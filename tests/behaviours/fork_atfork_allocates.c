/* Handlers of pthread_atfork allocate and free before and after the fork, in parent and child. */
#include "behaviour.h"

#include <pthread.h>

static void *block;

static void before(void)
{
    block = filled_block(2000, 8);
}

static void after(void)
{
    expect_filled(block, 2000, 8);
    free(block);
    free(malloc(70000));
}

int main(void)
{
    pthread_atfork(before, after, after);
    for (int i = 0; i < 5; i++) {
        pid_t child = fork();
        if (child == 0) {
            free(filled_block(100, 1));
            exit(0);
        }
        expect_success(child, "the child");
    }
    return 0;
}
