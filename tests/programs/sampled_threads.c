/* Two threads that wait for their turns. The main thread prints their numbers, then reads lines: `a` has both make blocks, each by
 * a function of its own; `0` asks hs_sample for samples of all, `1` and `2` for those of a thread, `-` for none, `x` for those of
 * no thread there is. Each line is answered. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCKS = 20000, MEAN = 10000, NO_THREAD = 1 << 23 };

extern int hs_sample(size_t mean, int thread) __attribute__((weak));

static pthread_barrier_t begins, ended;
static int number[3];
static void *volatile last;

/* Small blocks, some of them above the limit up to which a request finds its row in the heap. */
static size_t size_of(int block)
{
    return block % 16 == 0 ? 3000 : 100;
}

#define MAKER(name)                                            \
    __attribute__((noinline)) static void name(void)           \
    {                                                          \
        for (int block = 0; block < BLOCKS; block++) {         \
            free(malloc(size_of(block + 1)));                  \
            last = memset(malloc(size_of(block)), 1, 8);       \
        }                                                      \
    }
MAKER(made_by_first)
MAKER(made_by_second)

static void *work(void *with)
{
    int which = *(int *)with;
    number[which] = gettid();
    for (;;) {
        pthread_barrier_wait(&ended);
        pthread_barrier_wait(&begins);
        if (which == 1)
            made_by_first();
        else
            made_by_second();
    }
}

static int asked(size_t mean, int thread)
{
    int failed = hs_sample == NULL ? ENOSYS : 0;
    if (failed == 0 && hs_sample(mean, thread) != 0)
        failed = errno;
    return failed;
}

int main(void)
{
    static int which[] = { 0, 1, 2 };
    pthread_t thread;
    pthread_barrier_init(&begins, NULL, 3);
    pthread_barrier_init(&ended, NULL, 3);
    for (int one = 1; one <= 2; one++)
        if (pthread_create(&thread, NULL, work, &which[one]) != 0)
            return 3;
    pthread_barrier_wait(&ended);
    printf("%d %d\n", number[1], number[2]);
    fflush(stdout);
    for (int line = getchar(); line != EOF; line = getchar()) {
        int said = 0;
        if (line == '\n')
            continue;
        if (line == 'a') {
            pthread_barrier_wait(&begins);
            pthread_barrier_wait(&ended);
        } else {
            said = asked(line == '-' ? 0 : MEAN, line == 'x' ? NO_THREAD : line == '-' ? 0 : number[line - '0']);
        }
        printf("%d\n", said);
        fflush(stdout);
    }
    return 0;
}
