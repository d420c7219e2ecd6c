/* Two thousand threads, one after the other, each with one block of 6700 bytes; then eight at once, each with a thousand
 * blocks of 6701 bytes. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { ONE_BY_ONE = 2000, AT_ONCE = 8, BLOCKS = 1000 };

static pthread_barrier_t begin;

static void *run(void *unused)
{
    free(malloc(6700));
    return unused;
}

static void *run_beside_others(void *unused)
{
    pthread_barrier_wait(&begin);
    for (int i = 0; i < BLOCKS; i++)
        free(malloc(6701));
    return unused;
}

int main(void)
{
    pthread_t thread[AT_ONCE];
    alarm(60); /* the list of streams that ended may have no end */
    for (int i = 0; i < ONE_BY_ONE; i++) {
        if (pthread_create(&thread[0], NULL, run, NULL) != 0)
            return 1;
        pthread_join(thread[0], NULL);
    }
    pthread_barrier_init(&begin, NULL, AT_ONCE);
    for (int i = 0; i < AT_ONCE; i++)
        if (pthread_create(&thread[i], NULL, run_beside_others, NULL) != 0)
            return 1;
    for (int i = 0; i < AT_ONCE; i++)
        pthread_join(thread[i], NULL);
    return 0;
}
