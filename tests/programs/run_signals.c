/* A timer's signals at every point of the allocator; their handler reads and writes blocks, and calls nothing. argv: how
 * many signals. */
#include "run_blocks.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

enum { KEPT = 16, THREADS = 2 };

static struct block kept_alive[KEPT];
static volatile sig_atomic_t handled, broken;

static void handle(int signal)
{
    (void)signal;
    for (int index = 0; index < KEPT; index++) {
        struct block *block = &kept_alive[index];
        if (!kept(block, block->bytes))
            broken = 1;
        fill(block);
    }
    handled++;
}

static void *churn(void *number)
{
    struct block own[200] = { 0 };
    uint32_t random = 31 + (uint32_t)(uintptr_t)number;
    int wanted = *(int *)number;
    while (handled < wanted) {
        struct block *block = &own[next_random(&random) % 200];
        release(block);
        size_t bytes = random_bytes(&random);
        *block = (struct block){ calloc(1, bytes), bytes, (unsigned char)random };
        demand(block->start != NULL && (bytes == 0 || block->start[bytes - 1] == 0), "calloc failed");
        fill(block);
    }
    for (int index = 0; index < 200; index++)
        release(&own[index]);
    return NULL;
}

int main(int count, char **arguments)
{
    int wanted = count == 2 ? atoi(arguments[1]) : 0;
    struct sigaction action = { .sa_handler = handle, .sa_flags = SA_RESTART };
    struct itimerval often = { { 0, 200 }, { 0, 200 } };
    uint32_t random = 8;
    for (int index = 0; index < KEPT; index++) {
        size_t bytes = random_bytes(&random);
        kept_alive[index] = (struct block){ malloc(bytes), bytes, (unsigned char)index };
        fill(&kept_alive[index]);
    }
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    pthread_t thread[THREADS];
    for (int index = 0; index < THREADS; index++)
        demand(pthread_create(&thread[index], NULL, churn, &wanted) == 0, "no thread");
    churn(&wanted);
    for (int index = 0; index < THREADS; index++)
        pthread_join(thread[index], NULL);
    demand(!broken, "a handler found a block's contents changed");
    if (heapsmith_check != NULL)
        heapsmith_check();
    return puts("done") < 0;
}
