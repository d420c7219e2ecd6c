/* turns TIMES PROGRAM LIBRARY...: starts a program under each library in turns, `-` for none, and prints the median time
 * from start to end and the page faults. docs/lab/bench.md has its use: gcc -O2 turns.c -o turns */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

enum { MOST = 16, ROOM = 4096 };

static int smaller(const void *one, const void *other)
{
    double left = *(const double *)one, right = *(const double *)other;
    return (left > right) - (left < right);
}

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* The page faults of a run; -1 if the program fails. */
static long run_once(char *program, const char *library)
{
    char preload[ROOM], *arguments[] = { program, NULL }, *environment[] = { preload, NULL };
    struct rusage used;
    pid_t child;
    int status = 1;
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", library);
    if (strcmp(library, "-") == 0)
        environment[0] = NULL;
    if (posix_spawn(&child, program, NULL, NULL, arguments, environment) != 0 || wait4(child, &status, 0, &used) != child)
        return -1;
    return status == 0 ? used.ru_minflt : -1;
}

int main(int count, char **value)
{
    int times = count > 3 ? atoi(value[1]) : 0, libraries = count - 3;
    double *us = calloc((size_t)(times > 0 ? times : 1) * MOST, sizeof *us);
    long faults[MOST] = { 0 };
    if (us == NULL || times < 1 || libraries > MOST) {
        fputs("usage: turns TIMES PROGRAM LIBRARY...\n", stderr);
        return 2;
    }
    for (int turn = 0; turn < times * libraries; turn++) {
        int round = turn / libraries, library = (turn + round) % libraries;
        double begin = now_us();
        long seen = run_once(value[2], value[3 + library]);
        if (seen < 0) {
            fprintf(stderr, "turns: %s fails under %s\n", value[2], value[3 + library]);
            return 1;
        }
        us[library * times + round] = now_us() - begin;
        faults[library] += seen;
    }
    for (int library = 0; library < libraries; library++) {
        qsort(us + library * times, (size_t)times, sizeof *us, smaller);
        printf("%-32s %7.1f us %6.1f faults\n", value[3 + library], us[library * times + times / 2],
               (double)faults[library] / times);
    }
    return 0;
}
