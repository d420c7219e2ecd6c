/* The program ends while other threads allocate and free. */
#include "behaviour.h"

#include <pthread.h>
#include <stdatomic.h>

static atomic_int started;

static void *work(void *unused)
{
    for (size_t i = 0;; i++) {
        free(malloc(i % 3000));
        if (i == 1000)
            started++;
    }
    return unused;
}

int main(void)
{
    for (int i = 0; i < 4; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, work, NULL);
        pthread_detach(thread);
    }
    while (started < 4)
        usleep(100);
    return 0;
}
