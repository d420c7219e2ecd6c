/* run_locking MICROSECONDS: a thread allocates blocks of 200,000 bytes, and the process calls mlockall(2) so much later. Writes
 * how many mappings without access there are then of 1 to 3 MiB: the wide guards of huge blocks. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MOST = 4096, BYTES = 200000 };

static void *kept[MOST];
static bool ends;

static void *allocate(void *nothing)
{
    for (int block = 0; block < MOST && !__atomic_load_n(&ends, __ATOMIC_RELAXED); block++)
        kept[block] = malloc(BYTES);
    return nothing;
}

static int wide_guards(void)
{
    char line[512], access;
    unsigned long start, end;
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
        if (sscanf(line, "%lx-%lx %c", &start, &end, &access) == 3 && access == '-')
            found += end - start >= 1 << 20 && end - start <= 3 << 20;
    return maps != NULL ? found : -1;
}

int main(int count, char **argument)
{
    if (count != 2)
        return 2;
    struct rlimit limit = { 1 << 16, 1 << 16 };
    pthread_t thread;
    if (setrlimit(RLIMIT_MEMLOCK, &limit) != 0 || pthread_create(&thread, NULL, allocate, NULL) != 0)
        return 2;
    usleep((useconds_t)atoi(argument[1]));
    if (mlockall(MCL_CURRENT | MCL_ONFAULT) == 0) /* fails for who may not lock so much: no matter here */
        munlockall();
    __atomic_store_n(&ends, true, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    printf("%d\n", wide_guards());
    return 0;
}
