/* Blocks of libc's malloc, from a library opened with RTLD_DEEPBIND, come into the hands of the preloaded one: free and
 * realloc serve them as without it, and nothing leaks. argv[1]: the library; argv[2] "both": it is linked to the preloaded one,
 * so that all blocks are of one heap, and each side frees those of the other. */
#include "run_blocks.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

enum { ROUNDS = 40000, ROUND_BYTES = 2000, MOST_GROWTH = 16 << 20 }; /* 80 MB pass */

static long resident_bytes(void)
{
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    demand(file != NULL && fscanf(file, "%ld %ld", &pages, &resident) == 2, "no /proc/self/statm");
    fclose(file);
    return resident * sysconf(_SC_PAGESIZE);
}

int main(int count, char **arguments)
{
    void *library = count >= 2 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND) : NULL;
    bool both = count >= 3;
    demand(library != NULL, "dlopen failed");
    char *(*deep_copy)(const char *) = (char *(*)(const char *))dlsym(library, "deep_copy");
    void *(*deep_malloc)(size_t) = (void *(*)(size_t))dlsym(library, "deep_malloc");
    void (*deep_free)(void *) = (void (*)(void *))dlsym(library, "deep_free");
    demand(deep_copy != NULL && deep_malloc != NULL && deep_free != NULL, "dlsym failed");
    demand((heapsmith_locate(deep_malloc(100)) == -1) == !both, "the library's malloc is not the expected one");
    deep_free(deep_malloc(1000));
    long before = resident_bytes();
    for (int round = 0; round < ROUNDS; round++) {
        char *copy = deep_copy("made elsewhere");
        demand(malloc_usable_size(copy) >= sizeof "made elsewhere" - 1, "no usable size");
        copy = realloc(copy, ROUND_BYTES);
        demand(copy != NULL && strcmp(copy, "made elsewhere") == 0, "realloc lost the contents");
        memset(copy, 1, ROUND_BYTES);
        free(copy);
        free(deep_malloc(round % 300 * 1000)); /* beyond libc's mmap threshold too */
        if (both)
            deep_free(malloc(100));
    }
    demand(resident_bytes() - before < MOST_GROWTH, "blocks made elsewhere leak");
    return puts("done") < 0;
}
