/* Writes many fresh blocks, and says how many page faults that took, and how many pages the blocks are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { BLOCKS = 1 << 14, BYTES = 1000, PAGE = 4096 };

static long faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

int main(void)
{
    long before = faults();
    for (int block = 0; block < BLOCKS; block++)
        memset(malloc(BYTES), 1, BYTES);
    printf("%ld %d\n", faults() - before, BLOCKS / PAGE * BYTES);
    return 0;
}
