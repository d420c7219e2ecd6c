/* Allocates, moves seven blocks by realloc, then ends as its first argument says. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
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

int main(int count, char **arguments)
{
    const char *end = count > 1 ? arguments[1] : "exit";
    allocate();
    if (strcmp(end, "_exit") == 0)
        _exit(0);
    if (strcmp(end, "fork") == 0)
        fork_children(3);
    if (strcmp(end, "USR1") == 0 || strcmp(end, "USR2") == 0) {
        raise(end[3] == '1' ? SIGUSR1 : SIGUSR2);
        allocate();
        _exit(0);
    }
    if (strcmp(end, "close") == 0)
        close(2);
    if (strcmp(end, "reopen") == 0)
        open_all(arguments[2]);
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
