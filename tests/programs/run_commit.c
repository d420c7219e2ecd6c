/* run_commit BYTES SPACE: maps addresses without access until it has SPACE bytes of them, then twice allocates blocks of BYTES
 * until NULL and ENOMEM and frees them all. Writes the bytes got, each time. */
#include "run_blocks.h"

#include <stdio.h>
#include <sys/mman.h>

static size_t exhaust(size_t bytes)
{
    size_t got = 0;
    void **newest = NULL, **block;
    errno = 0;
    while ((block = malloc(bytes)) != NULL) {
        *block = newest;
        newest = block;
        got += bytes;
    }
    demand(errno == ENOMEM, "a failure that is not ENOMEM");
    while (newest != NULL) {
        void **older = *newest;
        free(newest);
        newest = older;
    }
    return got;
}

static size_t address_space(void)
{
    unsigned long pages = 0;
    FILE *sizes = fopen("/proc/self/statm", "r");
    demand(sizes != NULL && fscanf(sizes, "%lu", &pages) == 1, "no /proc");
    fclose(sizes);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

int main(int count, char **argument)
{
    demand(count == 3, "run_commit BYTES SPACE");
    size_t bytes = strtoul(argument[1], NULL, 10), space = strtoul(argument[2], NULL, 10);
    free(malloc(bytes));
    void *unused = mmap(NULL, space - address_space(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    demand(unused != MAP_FAILED, "no address space");
    size_t first = exhaust(bytes), second = exhaust(bytes);
    return printf("%zu %zu\n", first, second) < 0;
}
