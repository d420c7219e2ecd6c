/* The description (tools/common/program_start.py writes it) is a sequence of strings, each ended by a null byte: the signals
 * to ignore, the file for /etc/ld.so.preload, the program, the number of arguments, these, and the environment. */
#define _GNU_SOURCE
#include "become.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

enum { CANNOT_EXEC = 127, PART = 65536 };

/* All that the pipe gives. */
static char *content_of(int file, size_t *length)
{
    char *text = NULL;
    ssize_t got = 0;
    for (*length = 0;; *length += (size_t)got) {
        text = realloc(text, *length + PART);
        do
            got = text == NULL ? -1 : read(file, text + *length, PART);
        while (got < 0 && errno == EINTR);
        if (got <= 0)
            return got < 0 ? NULL : text;
    }
}

/* The pointers to `count` strings from `*at` on, and a null pointer; `*at` goes behind them. */
static char **strings(char **at, size_t count)
{
    char **found = calloc(count + 1, sizeof *found);
    for (size_t i = 0; found != NULL && i < count; i++) {
        found[i] = *at;
        *at += strlen(*at) + 1;
    }
    return found;
}

_Bool start_read(int file, struct start *to)
{
    size_t length, count = 0;
    char *at = content_of(file, &length);
    close(file);
    for (size_t i = 0; at != NULL && i < length; i++)
        count += at[i] == '\0';
    if (count < 4)
        return false;
    char **head = strings(&at, 4);
    size_t words = head != NULL ? strtoul(head[3], NULL, 10) : SIZE_MAX;
    if (words > count - 4)
        return false;
    *to = (struct start){strtoul(head[0], NULL, 10), head[1], head[2], NULL, NULL};
    to->arguments = strings(&at, words);
    to->environment = strings(&at, count - 4 - words);
    return to->arguments != NULL && to->environment != NULL;
}

/* A mount is seen by this process and its children alone, and ends with the last of them. */
static bool preload_everywhere(const char *file)
{
    return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) == 0 &&
           mount(file, "/etc/ld.so.preload", NULL, MS_BIND, NULL) == 0;
}

_Noreturn void start_become(const struct start *s, int error_pipe)
{
    for (int number = 1; number < NSIG; number++)
        signal(number, s->ignored >> (number - 1) & 1 ? SIG_IGN : SIG_DFL);
    fcntl(error_pipe, F_SETFD, FD_CLOEXEC);
    bool is_ready = s->preload_file[0] == '\0' || preload_everywhere(s->preload_file);
    if (is_ready)
        execve(s->program, s->arguments, s->environment);
    int error = is_ready ? errno : -errno;
    _exit(write(error_pipe, &error, sizeof error) == sizeof error ? CANNOT_EXEC : 1);
}
