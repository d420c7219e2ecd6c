/* Four threads that allocate and free all the time, while each gets SIGUSR2 again and again. The program has a handler of its own
 * for it before any library begins, by its first argument: `plain`, `info`, `once` (SA_RESETHAND) or `none`. It prints how often
 * that ran, and waits for the end of its input. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 4, BLOCKS = 64, ROUNDS = 300, STEPS = 2000 };

static atomic_long ran, steps;
static atomic_int stops, wrong;

static void on_signal(int number)
{
    wrong |= number != SIGUSR2;
    ran++;
}

/* It is told who sent the signal, and finds the mask that it wanted. */
static void on_signal_told(int number, siginfo_t *signal, void *context)
{
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    wrong |= signal->si_pid != getpid() || context == NULL || !sigismember(&mask, SIGHUP);
    on_signal(number);
}

static void install(int count, char **argument, char **environment)
{
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
    (void)environment;
    if (count < 2 || strcmp(argument[1], "none") == 0)
        return;
    if (strcmp(argument[1], "info") == 0) {
        action.sa_sigaction = on_signal_told;
        action.sa_flags |= SA_SIGINFO;
        sigaddset(&action.sa_mask, SIGHUP);
    }
    if (strcmp(argument[1], "once") == 0)
        action.sa_flags |= SA_RESETHAND;
    sigaction(SIGUSR2, &action, NULL);
}

/* Of an executable, these run before all constructors. */
__attribute__((section(".preinit_array"), used)) static void (*const first)(int, char **, char **) = install;

/* Each block keeps its bytes. */
static void *work(void *with)
{
    unsigned char *block[BLOCKS] = { NULL };
    size_t bytes[BLOCKS] = { 0 };
    unsigned number = (unsigned)(size_t)with;
    while (!stops) {
        steps++;
        number = number * 1664525 + 1013904223;
        const int at = number >> 26;
        for (size_t byte = 0; byte < bytes[at]; byte++)
            if (block[at][byte] != at)
                abort();
        free(block[at]);
        bytes[at] = number >> 8 & 0x7ff;
        block[at] = malloc(bytes[at]);
        memset(block[at], at, bytes[at]);
    }
    for (int at = 0; at < BLOCKS; at++)
        free(block[at]);
    return NULL;
}

int main(void)
{
    pthread_t thread[THREADS];
    for (size_t which = 0; which < THREADS; which++)
        if (pthread_create(&thread[which], NULL, work, (void *)which) != 0)
            return 3;
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t which = 0; which < THREADS; which++)
            pthread_kill(thread[which], SIGUSR2);
        for (long until = steps + STEPS; steps < until;)
            sched_yield();
    }
    stops = 1;
    for (size_t which = 0; which < THREADS; which++)
        pthread_join(thread[which], NULL);
    printf("%ld\n", (long)ran);
    fflush(stdout);
    while (getchar() != EOF)
        ;
    return wrong;
}
