/* Two thousand threads, one after the other, each with one block of 6700 bytes. */
#include <pthread.h>
#include <stdlib.h>

static void *run(void *unused)
{
    free(malloc(6700));
    return unused;
}

int main(void)
{
    pthread_t thread;
    for (int i = 0; i < 2000; i++) {
        if (pthread_create(&thread, NULL, run, NULL) != 0)
            return 1;
        pthread_join(thread, NULL);
    }
    return 0;
}
