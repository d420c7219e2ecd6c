/* Threads that allocate in steps, for who looks at the process in between. argv: how many threads. Each byte on standard input
 * asks for a step, after which a line says "bytes in use (mallinfo2), blocks of 4000 bytes that live". All threads wait then.
 *   w  each thread allocates and frees blocks of many sizes, and keeps some; some are freed by the next thread
 *   k  allocate 50 more blocks of 4000 bytes and keep them
 *   f  fork a child, which keeps 7 blocks of 4000 bytes more and says so, and waits for the end of the input too
 *   x  begin anew, by exec */
#define _GNU_SOURCE
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST = 8, KEPT = 300, ROUNDS = 4000, LARGE = 4000, ALL = 1 << 14 };

static int threads;
static pthread_barrier_t begun, ended;
static void *kept[MOST][KEPT];
static void *large[ALL];
static int larges;

/* A size that differs from round to round: small ones, and some that are runs. */
static size_t bytes_of(unsigned number)
{
    unsigned mixed = number * 2654435761u >> 16;
    return mixed % 64 == 0 ? 40000 + mixed % 9000 : mixed % 1500;
}

/* The even slots are another thread's too, which takes its turn when this one has ended. */
static void work(int self)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        void **slot = &kept[self][round % KEPT];
        free(*slot);
        *slot = malloc(bytes_of(round * MOST + (unsigned)self));
    }
}

static void take_over(int self)
{
    int other = (self + 1) % threads;
    for (int index = 0; index < KEPT; index += 2) {
        free(kept[other][index]);
        kept[other][index] = NULL;
    }
}

static void *thread(void *number)
{
    for (;;) {
        pthread_barrier_wait(&begun);
        work((int)(long)number);
        pthread_barrier_wait(&ended);
        take_over((int)(long)number);
        pthread_barrier_wait(&ended);
    }
    return NULL;
}

static void keep(int blocks)
{
    for (int index = 0; index < blocks; index++)
        large[larges++] = malloc(LARGE);
}

static void say(void)
{
    char line[64];
    int length = snprintf(line, sizeof line, "%zu %d\n", mallinfo2().uordblks, larges);
    if (write(1, line, (size_t)length) != length)
        _exit(1);
}

int main(int count, char **words)
{
    char step;
    threads = count > 1 ? atoi(words[1]) : 1;
    pthread_barrier_init(&begun, NULL, (unsigned)threads + 1);
    pthread_barrier_init(&ended, NULL, (unsigned)threads + 1);
    for (long number = 0; number < threads; number++) {
        pthread_t made;
        if (pthread_create(&made, NULL, thread, (void *)number) != 0)
            return 1;
    }
    say();
    while (read(0, &step, 1) == 1) {
        if (step == 'w') {
            pthread_barrier_wait(&begun);
            pthread_barrier_wait(&ended);
            pthread_barrier_wait(&ended);
        } else if (step == 'k') {
            keep(50);
        } else if (step == 'x') {
            execv("/proc/self/exe", words);
        } else if (step == 'f' && fork() == 0) {
            keep(7);
            say();
            struct pollfd input = { .fd = 0 }; /* its end alone: to read would take a step that is the parent's */
            while (poll(&input, 1, -1) < 1 || (input.revents & POLLHUP) == 0)
                continue;
            _exit(0);
        }
        if (step != 'f')
            say();
    }
    return 0;
}
