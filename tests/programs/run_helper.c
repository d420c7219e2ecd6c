/* Blocks of one class until the library's helper has had time to help; in a child too, or while the main thread is gone.
 * usage: run_helper works|forks|leaves-main|without */
#define _GNU_SOURCE
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int threads(void)
{
    int count = -2; /* . and .. */
    DIR *tasks = opendir("/proc/self/task");
    while (readdir(tasks) != NULL)
        count++;
    closedir(tasks);
    return count;
}

static void allocate(int rounds)
{
    for (int round = 0; round < rounds; round++) {
        for (int block = 0; block < 1000; block++)
            *(volatile char *)malloc(64) = 1;
        usleep(1000);
    }
}

static void *work(void *unused)
{
    usleep(20000); /* the main thread has ended */
    allocate(20);
    return unused;
}

static void expect(int is_true, const char *what)
{
    if (!is_true) {
        fprintf(stderr, "%s\n", what);
        _exit(1);
    }
}

/* A helper came, and what it needed is as it was; it rests, and comes back. */
static void helped(void)
{
    allocate(20);
    expect(threads() == 2, "no helper");
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    expect(!sigismember(&now, SIGUSR1), "a signal stayed blocked");
    usleep(300000);
    expect(threads() == 1, "a helper that nobody calls goes on");
    allocate(20);
    expect(threads() == 2, "no helper after a rest");
}

int main(int count, char **argument)
{
    alarm(20);
    const char *how = count > 1 ? argument[1] : "";
    if (strcmp(how, "without") == 0) {
        allocate(20);
        expect(threads() == 1, "a thread where none can be made");
        return 0;
    }
    if (strcmp(how, "leaves-main") == 0) {
        pthread_t thread;
        expect(pthread_create(&thread, NULL, work, NULL) == 0, "no thread");
        pthread_exit(NULL);
    }
    helped();
    if (strcmp(how, "forks") == 0) {
        pid_t child = fork();
        if (child == 0) {
            expect(threads() == 1, "a fork's child has a helper");
            allocate(20);
            expect(threads() == 2, "no helper in the child");
            exit(0);
        }
        int status;
        expect(waitpid(child, &status, 0) == child && status == 0, "the child failed");
    }
    return 0;
}
