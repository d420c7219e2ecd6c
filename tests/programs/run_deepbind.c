/* A library opened with RTLD_DEEPBIND has the preloaded malloc all the same, and each side frees what the other made.
 * argv[1]: the library. */
#include "run_blocks.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>

enum { ROUNDS = 2000, ROUND_BYTES = 2000 };

int main(int count, char **arguments)
{
    void *library = count == 2 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND) : NULL;
    demand(library != NULL, "dlopen failed");
    char *(*deep_copy)(const char *) = (char *(*)(const char *))dlsym(library, "deep_copy");
    void *(*deep_malloc)(size_t) = (void *(*)(size_t))dlsym(library, "deep_malloc");
    void (*deep_free)(void *) = (void (*)(void *))dlsym(library, "deep_free");
    demand(deep_copy != NULL && deep_malloc != NULL && deep_free != NULL, "dlsym failed");
    void *deep = deep_malloc(100);
    demand(heapsmith_locate(deep) != -1, "the library's malloc is another one");
    free(deep);
    for (int round = 0; round < ROUNDS; round++) {
        char *copy = deep_copy("made elsewhere");
        demand(malloc_usable_size(copy) >= sizeof "made elsewhere" - 1, "no usable size");
        copy = realloc(copy, ROUND_BYTES);
        demand(copy != NULL && strcmp(copy, "made elsewhere") == 0, "realloc lost the contents");
        memset(copy, 1, ROUND_BYTES);
        deep_free(copy);
        free(deep_malloc((size_t)round * 500));
        deep_free(malloc((size_t)round * 500));
    }
    return puts("done") < 0;
}
