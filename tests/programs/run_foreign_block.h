/* Blocks of the C library's own malloc, past whatever malloc the program has: __libc_malloc is a name of the library's too. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

static void *foreign_malloc(size_t bytes)
{
    static void *(*its_malloc)(size_t);
    if (its_malloc == NULL)
        its_malloc = (void *(*)(size_t))dlsym(dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD), "malloc");
    return its_malloc(bytes);
}
