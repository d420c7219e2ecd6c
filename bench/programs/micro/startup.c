/* startup TIMES: start /bin/true and wait for its end, TIMES times: a library's cost for a short
 * process. */
#define _GNU_SOURCE
#include "micro.h"
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

static int run_once(void)
{
    char *arguments[] = {"true", NULL};
    pid_t child;
    int status = 1;
    if (posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environ) != 0 || waitpid(child, &status, 0) != child)
        return 1;
    return status;
}

int main(int count, char **value)
{
    read_arguments(count, value, 1, "usage: startup TIMES");
    long times = number(0, 1, 1 << 20);
    uint64_t failures = 0;
    start_clock();
    for (long i = 0; i < times; i++)
        failures += !is_dry && run_once() != 0;
    return report(failures, (uint64_t)times);
}
