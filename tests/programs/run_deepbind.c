/* Blocks of libc's malloc, from a library opened with RTLD_DEEPBIND, come into the hands of the preloaded one: free and
 * realloc do no harm. argv[1]: the library. */
#include "run_blocks.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>

int main(int count, char **arguments)
{
    void *library = count == 2 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND) : NULL;
    demand(library != NULL, "dlopen failed");
    char *(*deep_copy)(const char *) = (char *(*)(const char *))dlsym(library, "deep_copy");
    void *(*deep_malloc)(size_t) = (void *(*)(size_t))dlsym(library, "deep_malloc");
    void (*deep_free)(void *) = (void (*)(void *))dlsym(library, "deep_free");
    demand(deep_copy != NULL && deep_malloc != NULL && deep_free != NULL, "dlsym failed");
    demand(heapsmith_locate(deep_malloc(100)) == -1, "the library's malloc is not libc's");
    deep_free(deep_malloc(1000));
    for (int round = 0; round < 1000; round++) {
        char *copy = deep_copy("made elsewhere");
        malloc_usable_size(copy);
        char *grown = round % 2 == 0 ? realloc(copy, 500) : NULL;
        if (round % 2 == 0)
            demand(grown != NULL ? strcmp(grown, "made elsewhere") == 0 : errno == ENOMEM, "realloc lost the contents");
        else
            free(copy);
        free(grown);
        free(deep_malloc(round * 500)); /* beyond libc's mmap threshold too */
    }
    return puts("done") < 0;
}
