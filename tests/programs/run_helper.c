/* Blocks of one class until the library's helper has had time to help; in a child too, in a child alone, while the main
 * thread is gone, or until the library is told to do without it.
 * usage: run_helper works|forks|leaves-main|without|checks|performs */
#include "system_calls.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

extern void heapsmith_background(uint64_t events) __attribute__((weak));
extern void heapsmith_check(void) __attribute__((weak));

enum { LOCK_NANOSECONDS = 10 * 1000 * 1000 }; /* no sleep for a lock is longer (runtime/heap/2_system/lock.c) */
static uint32_t *napped; /* the word that the helper sleeps on: for longer than others */
static int wakes;        /* of the helper */

long syscall(long number, ...)
{
    va_list words;
    va_start(words, number);
    struct system_call call = system_call_read(number, words);
    va_end(words);
    if (call.futex == FUTEX_WAIT && call.time != NULL && (call.time->tv_sec > 0 || call.time->tv_nsec > LOCK_NANOSECONDS))
        napped = call.word;
    else if (call.futex == FUTEX_WAKE && call.word == napped)
        __atomic_add_fetch(&wakes, 1, __ATOMIC_RELAXED);
    return system_call_make(call);
}

static int threads(void)
{
    int count = -2; /* . and .. */
    DIR *tasks = opendir("/proc/self/task");
    while (readdir(tasks) != NULL)
        count++;
    closedir(tasks);
    return count;
}

static void expect(int is_true, const char *what)
{
    if (!is_true) {
        fprintf(stderr, "%s\n", what);
        _exit(1);
    }
}

enum { PATIENCE = 1000 }; /* rounds; they take ten seconds and more, for a machine that is busy */

static void rest(int round)
{
    usleep(round < 20 ? 1000 : 10000);
}

static void allocate(int rounds)
{
    errno = 77;
    for (int round = 0; round < rounds; round++) {
        for (int block = 0; block < 1000; block++)
            *(volatile char *)malloc(64) = 1;
        usleep(1000);
    }
    expect(errno == 77, "malloc changed errno");
}

/* The helper comes, has done a step where it sleeps, and is called. */
static void get_help(const char *what)
{
    napped = NULL;
    wakes = 0;
    for (int round = 0; round < PATIENCE && (napped == NULL || wakes == 0 || threads() != 2); round++) {
        allocate(1);
        rest(round);
    }
    expect(threads() == 2, what);
    expect(wakes > 0, "a helper that sleeps is not called");
}

/* No allocation calls it meanwhile. */
static void be_alone(const char *what)
{
    for (int round = 0; round < PATIENCE && threads() > 1; round++)
        rest(round);
    expect(threads() == 1, what);
}

static void *work(void *unused)
{
    usleep(20000); /* the main thread has ended */
    for (int round = 0; round < PATIENCE && napped == NULL; round++) {
        allocate(1);
        rest(round);
    }
    return unused;
}

/* A helper came, and what it needed is as it was; it rests, and comes back. */
static void helped(void)
{
    get_help("no helper");
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    expect(!sigismember(&now, SIGUSR1), "a signal stayed blocked");
    be_alone("a helper that nobody calls goes on");
    get_help("no helper after a rest");
}

/* There is no helper any more, and there never will be. */
static void not_helped(void)
{
    allocate(20);
    be_alone("a helper goes on");
    allocate(20);
    expect(threads() == 1, "a thread that was not to be");
}

/* The helper of a child, and how the child ended. */
static void help_child(void)
{
    pid_t child = fork();
    if (child == 0) {
        expect(threads() == 1, "a fork's child has a helper");
        get_help("no helper in the child");
        exit(0);
    }
    int status;
    expect(waitpid(child, &status, 0) == child && status == 0, "the child failed");
}

int main(int count, char **argument)
{
    alarm(120);
    const char *how = count > 1 ? argument[1] : "";
    if (strcmp(how, "performs") == 0) {
        heapsmith_background(0);
        not_helped();
        return 0;
    }
    if (strcmp(how, "without") == 0) {
        not_helped();
        help_child();
        return 0;
    }
    if (strcmp(how, "leaves-main") == 0) {
        pthread_t thread;
        expect(pthread_create(&thread, NULL, work, NULL) == 0, "no thread");
        pthread_exit(NULL);
    }
    helped();
    if (strcmp(how, "forks") == 0)
        help_child();
    if (strcmp(how, "checks") == 0) {
        heapsmith_check();
        not_helped();
    }
    return 0;
}
