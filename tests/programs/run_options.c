/* Allocates, moves seven blocks by realloc, then ends as its first argument says. */
#include "run_foreign_block.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void allocate(void)
{
    void *block[7];
    for (int index = 0; index < 7; index++)
        block[index] = malloc(100);
    for (int index = 0; index < 7; index++)
        block[index] = realloc(block[index], 200000);
    for (int index = 0; index < 7; index++)
        free(block[index]);
}

static void close_all(void)
{
    for (int descriptor = 0; descriptor < 256; descriptor++)
        close(descriptor);
}

/* Another file stands under every descriptor that was there, but for standard error's. */
static void open_all(const char *path)
{
    close_all();
    for (int descriptor = 0; descriptor < 256; descriptor++)
        if (open(path, O_RDWR | O_CREAT | O_APPEND, 0600) != descriptor)
            _exit(3);
    close(2);
}

static void clobber_environment(void)
{
    for (char **variable = environ; *variable != NULL; variable++)
        memset(*variable, 'z', strlen(*variable));
}

static void fork_children(int count)
{
    for (int child = 0; child < count; child++)
        if (fork() == 0)
            exit(0);
    while (wait(NULL) > 0)
        ;
}

/* A request to cancel the thread stands while a line is written, of a report or else of a foreign pointer. */
static void *write_while_cancelled(void *report)
{
    int before;
    void *foreign = foreign_malloc(10);
    pthread_cancel(pthread_self());
    if (report != NULL)
        raise(SIGUSR1);
    else
        free(foreign);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    puts(before == PTHREAD_CANCEL_ENABLE ? "survived" : "cannot be cancelled any more");
    return NULL;
}

static atomic_int reporter;

static void *report_slowly(void *unused)
{
    atomic_store(&reporter, gettid());
    raise(SIGUSR1);
    return unused;
}

/* Waits until the other thread sleeps inside its report, proc(5). */
static void await_sleep(void)
{
    char name[64], line[256] = "";
    while (atomic_load(&reporter) == 0)
        ;
    snprintf(name, sizeof name, "/proc/self/task/%d/stat", atomic_load(&reporter));
    for (const char *state = NULL; state == NULL || state[2] != 'S'; state = strrchr(line, ')')) {
        FILE *file = fopen(name, "r");
        if (file == NULL || fgets(line, sizeof line, file) == NULL)
            _exit(4);
        fclose(file);
    }
}

int main(int count, char **arguments)
{
    const char *end = count > 1 ? arguments[1] : "exit";
    allocate();
    if (strcmp(end, "_exit") == 0)
        _exit(0);
    if (strcmp(end, "fork") == 0)
        fork_children(3);
    if (strcmp(end, "USR1") == 0 || strcmp(end, "USR2") == 0) {
        if (count > 2 && (close(2) != 0 || open(arguments[2], O_WRONLY | O_CREAT, 0600) != 2))
            _exit(3);
        raise(end[3] == '1' ? SIGUSR1 : SIGUSR2);
        allocate();
        _exit(0);
    }
    if (strcmp(end, "close") == 0)
        close(2);
    if (strcmp(end, "reopen") == 0)
        open_all(arguments[2]);
    pthread_t thread;
    if (strcmp(end, "cancel") == 0) {
        pthread_create(&thread, NULL, write_while_cancelled, count > 2 ? arguments[2] : NULL);
        pthread_join(thread, NULL);
    }
    if (strcmp(end, "slow") == 0) {
        pthread_create(&thread, NULL, report_slowly, NULL);
        await_sleep();
        puts("ends");
        fflush(stdout);
    }
    if (strcmp(end, "clobber") == 0)
        clobber_environment();
    if (strcmp(end, "exec") == 0)
        execl(arguments[0], arguments[0], "exit", NULL);
    return 0;
}

/* In the place of the library's own, where that can be replaced. */
void heapsmith_check(void)
{
    puts("checked");
}
