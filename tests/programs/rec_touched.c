/* Large blocks of which a part is touched, and threads that work or sleep. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, LARGE = 4 << 20 };

static void spend(clockid_t clock, long ms)
{
    struct timespec now, began;
    clock_gettime(clock, &began);
    do
        clock_gettime(clock, &now);
    while ((now.tv_sec - began.tv_sec) * 1000 + (now.tv_nsec - began.tv_nsec) / 1000000 < ms);
}

static void *sleeps(void *unused)
{
    (void)unused;
    free(malloc(24));
    usleep(60000);
    free(malloc(24));
    return NULL;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, sleeps, NULL);
    char *quarter = malloc(LARGE), *whole = malloc(LARGE);
    memset(quarter, 1, LARGE / 4);
    memset(whole, 1, LARGE);
    free(quarter);
    whole = realloc(whole, 2 * LARGE);
    free(malloc(1000)); /* small: no sample */
    spend(CLOCK_THREAD_CPUTIME_ID, 30);
    free(whole); /* its second half is untouched */
    pthread_join(thread, NULL);
    return 0;
}
