/* Threads that use seven blocks of three sizes one after the other, and wait. Prints what mallinfo2 counts as used. */

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 1500, OF_A_SIZE = 7, BLOCKS = 3 * OF_A_SIZE };

static pthread_barrier_t used;

static void *parks(void *unused)
{
    static const size_t sizes[] = {64, 256, 1000};
    char *blocks[BLOCKS];
    for (int at = 0; at < BLOCKS; at++)
        *(blocks[at] = malloc(sizes[at / OF_A_SIZE])) = 1;
    for (int at = 0; at < BLOCKS; at++)
        free(blocks[at]);
    pthread_barrier_wait(&used);
    pause();
    return unused;
}

int main(void)
{
    pthread_attr_t small;
    pthread_t thread;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    pthread_barrier_init(&used, NULL, 2);
    for (int at = 0; at < THREADS; at++) {
        if (pthread_create(&thread, &small, parks, NULL) != 0)
            return 1;
        pthread_barrier_wait(&used);
    }
    printf("%zu\n", mallinfo2().uordblks);
    fflush(stdout);
    _exit(0);
}
