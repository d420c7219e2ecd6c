/* passing: answers each line of its input at once, tells SIGINT, and ends with status 7 at the end of its input. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void tell(const char *text)
{
    if (write(STDOUT_FILENO, text, strlen(text)) < 0)
        _exit(1);
}

static void interrupted(int number)
{
    (void)number;
    tell("interrupted\n");
}

int main(void)
{
    struct sigaction action = {.sa_handler = interrupted, .sa_flags = SA_RESTART};
    sigaction(SIGINT, &action, NULL);
    for (int file = 0; file < 3; file++)
        tell(isatty(file) ? "terminal\n" : "no terminal\n");
    tell(tcgetpgrp(STDIN_FILENO) == getpgrp() ? "foreground\n" : errno == ENOTTY ? "no group\n" : "background\n");
    char line[100];
    for (ssize_t length; (length = read(STDIN_FILENO, line, sizeof line - 1)) > 0;) {
        char *copy = malloc((size_t)length + 1);
        if (copy == NULL)
            return 1;
        memcpy(copy, line, (size_t)length);
        copy[length] = '\0';
        tell("got ");
        tell(copy);
        free(copy);
    }
    fprintf(stderr, "end\n");
    return 7;
}
