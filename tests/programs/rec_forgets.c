/* rec_forgets PLUGIN FILE: thousands of stacks, again and again, and a library that comes and goes in between, so that the recorder
 * forgets what it remembered of them. FILE says by how many KiB the process's mappings grew in the later rounds. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define APART __attribute__((noinline, noclone))

enum { WAYS = 1 << 12, DEPTH = 12, FIRST_ROUNDS = 5, ROUNDS = 25 };

static void *volatile kept;

static void go(unsigned way, unsigned depth);

APART static void left(unsigned way, unsigned depth)
{
    go(way, depth);
    kept = NULL;
}

APART static void right(unsigned way, unsigned depth)
{
    go(way, depth);
    kept = NULL;
}

APART static void go(unsigned way, unsigned depth)
{
    if (depth == DEPTH)
        free(malloc(10));
    else
        (way >> depth & 1 ? left : right)(way, depth + 1);
    kept = NULL;
}

static long mapped_kib(void)
{
    char line[200];
    long pages = -1;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file != NULL && fgets(line, sizeof line, file) != NULL)
        pages = strtol(line, NULL, 10);
    fclose(file);
    return 4 * pages;
}

int main(int count, char **argument)
{
    long before = 0;
    for (int round = 0; count == 3 && round < ROUNDS; round++) {
        if (round == FIRST_ROUNDS)
            before = mapped_kib();
        for (unsigned way = 0; way < WAYS; way++)
            go(way, 0);
        dlclose(dlopen(argument[1], RTLD_NOW));
    }
    FILE *file = fopen(argument[2], "w");
    if (file == NULL)
        return 1;
    fprintf(file, "%ld\n", mapped_kib() - before);
    return fclose(file);
}
