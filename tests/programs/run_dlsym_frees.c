/* Preloaded: a dlsym that itself frees a block of the C library's own malloc each time it is asked. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

void *__libc_malloc(size_t bytes);

void *dlsym(void *handle, const char *name)
{
    void *(*real)(void *, const char *) = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    free(__libc_malloc(1000));
    return real(handle, name);
}
