/* run_nodes BYTES PROCESSOR...: a block of BYTES on each processor, which the library is told, or on which the thread then runs
 * if the number has an @ before it. Writes for each the block's superslab of 16 KiB, and its address. */
#define _GNU_SOURCE
#include "run_blocks.h"

#include <sched.h>
#include <stdio.h>

extern void heapsmith_runs_on(int32_t processor) __attribute__((weak));

static void run_on(const char *processor)
{
    cpu_set_t only;
    CPU_ZERO(&only);
    CPU_SET(atoi(processor), &only);
    demand(sched_setaffinity(0, sizeof only, &only) == 0, "no such processor");
}

int main(int count, char **argument)
{
    size_t bytes = strtoul(argument[1], NULL, 10);
    int unused = dup(1);
    close(unused);
    for (int index = 2; index < count; index++) {
        if (argument[index][0] == '@')
            run_on(argument[index] + 1);
        heapsmith_runs_on(argument[index][0] == '@' ? -1 : atoi(argument[index]));
        errno = 0;
        char *block = malloc(bytes);
        demand(block != NULL && errno == 0, "malloc failed, or has set errno");
        memset(block, 1, bytes);
        demand(dup(1) == unused && close(unused) == 0, "a file stays open");
        printf("%lld %p\n", (long long)heapsmith_locate(block) >> 14, (void *)block);
    }
}
