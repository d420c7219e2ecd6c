/* A program that starts threads, or has handlers of fork, late. argv: the mode.
 *   alone     allocates and forks, in one thread
 *   threads   starts two threads, one after the other
 *   handlers  registers a handler that waits for a mutex, under which a thread allocates all the time; and forks */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BLOCKS = 2000, FORKS = 50 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bool stop;

static void say(const char *line)
{
    if (write(STDOUT_FILENO, line, strlen(line)) < 0)
        _exit(2);
}

static void use(void)
{
    static __thread void *block[BLOCKS];
    for (int index = 0; index < BLOCKS; index++)
        block[index] = malloc((size_t)40 << index % 12);
    for (int index = 0; index < BLOCKS; index++)
        free(block[index]);
}

static void fork_once(void)
{
    pid_t child = fork();
    if (child == 0) {
        use();
        _exit(0);
    }
    int status = 1;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        _exit(3);
}

static void *thread(void *unused)
{
    say("thread\n");
    use();
    return unused;
}

static void *under_the_mutex(void *unused)
{
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        pthread_mutex_lock(&mutex);
        use();
        pthread_mutex_unlock(&mutex);
        usleep(50); /* the mutex is not fair: fork's handler would hardly ever have it */
    }
    return unused;
}

static void before(void)
{
    pthread_mutex_lock(&mutex);
}

static void after(void)
{
    pthread_mutex_unlock(&mutex);
}

static void handlers(void)
{
    pthread_t other;
    pthread_atfork(before, after, after);
    say("mine\n");
    if (pthread_create(&other, NULL, under_the_mutex, NULL) != 0)
        _exit(4);
    for (int round = 0; round < FORKS; round++)
        fork_once();
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    pthread_join(other, NULL);
}

int main(int count, char **arguments)
{
    alarm(120);
    use();
    fork_once();
    say("begin\n");
    if (count == 2 && strcmp(arguments[1], "handlers") == 0)
        handlers();
    for (int index = 0; count == 2 && strcmp(arguments[1], "threads") == 0 && index < 2; index++) {
        pthread_t other;
        if (pthread_create(&other, NULL, thread, NULL) != 0 || pthread_join(other, NULL) != 0)
            return 5;
    }
    say("end\n");
    return 0;
}
