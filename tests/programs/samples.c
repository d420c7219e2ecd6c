/* The table of samples for tests (tests/test_samples.py): calls from many call stacks, and a fork in the middle of a change. */
#include "9_api/sampling/profile.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Each path of `bits` calls, of two places each, is a call stack of its own. */
__attribute__((noinline)) void sample_below(uintptr_t path, unsigned bits, void *block, size_t bytes, uint64_t mean)
{
    struct call_stack stack;
    if (bits == 0) {
        hs_call_stack(&stack);
        hs_sample_taken(block, bytes, mean, &stack);
    } else if (path & 1)
        sample_below(path >> 1, bits - 1, block, bytes, mean);
    else
        sample_below(path >> 1, bits - 1, block, bytes, mean);
    __asm__ volatile(""); /* no tail call */
}

enum { THREADS = 4, ROUNDS = 4000, OWN = 64, CHILDREN = 20 };

/* Its own addresses: each block is taken and freed by this thread alone, a quarter of them stays. */
static void *churn(void *of)
{
    const uintptr_t first = 0x10000 + (uintptr_t)of * OWN * 16;
    for (unsigned round = 0; round < ROUNDS; round++) {
        void *block = (void *)(first + round % OWN * 16);
        sample_below(round % 8, 3, block, 1 + round % 100, 50);
        if (round + OWN / 4 < ROUNDS)
            hs_sample_freed(block);
    }
    return NULL;
}

/* How many samples live at the end, or a negative number: what is wrong. */
int samples_of_threads(void)
{
    pthread_t thread[THREADS];
    hs_samples_forget();
    for (uintptr_t index = 0; index < THREADS; index++)
        if (pthread_create(&thread[index], NULL, churn, (void *)index) != 0)
            return -1;
    for (unsigned index = 0; index < THREADS; index++)
        pthread_join(thread[index], NULL);
    return hs_samples.taken == THREADS * ROUNDS && hs_samples.changes % 2 == 0 ? (int)hs_samples.live : -2;
}

/* Children of a process whose threads change the table take and free samples too. How many came to their end. */
int samples_over_fork(void)
{
    pthread_t thread[THREADS];
    int ended = 0;
    hs_samples_forget();
    for (uintptr_t index = 0; index < THREADS; index++)
        if (pthread_create(&thread[index], NULL, churn, (void *)index) != 0)
            return -1;
    for (unsigned child = 0; child < CHILDREN; child++) {
        int status = -1;
        pid_t made = fork();
        if (made == 0) {
            alarm(60); /* ends a child that waits for a lock */
            churn((void *)(uintptr_t)THREADS);
            struct samples_copy *copy = hs_samples_copy();
            _exit(copy != NULL && copy->samples.changes % 2 == 1 && hs_samples.changes % 2 == 0 ? 0 : 1);
        }
        ended += waitpid(made, &status, 0) == made && status == 0;
    }
    for (unsigned index = 0; index < THREADS; index++)
        pthread_join(thread[index], NULL);
    return ended;
}

/* What the library has beside the table. */
const char hs_design[] = "of-tests 0123";

uint64_t hs_sampling_mean(void)
{
    return 1000;
}

int main(void)
{
    return samples_of_threads() == THREADS * OWN / 4 ? 0 : 1;
}
