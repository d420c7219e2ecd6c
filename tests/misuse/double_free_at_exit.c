/* A thread frees a block twice, with one free in between, and ends. */
#include "misuse.h"

#include <pthread.h>

enum { BLOCKS = 300 };

static void *frees(void *unused)
{
    void *block[BLOCKS];
    for (int number = 0; number < BLOCKS; number++)
        block[number] = get(SMALL);
    name(block[0]);
    free(block[0]);
    free(block[1]);
    free(hidden(block[0]));
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, frees, NULL);
    pthread_join(thread, NULL);
}
