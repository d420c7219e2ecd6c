/* A library that is opened with RTLD_DEEPBIND: its malloc is libc's, whatever is preloaded. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

char *deep_copy(const char *text)
{
    return strdup(text);
}

void *deep_malloc(size_t bytes)
{
    return malloc(bytes);
}

void deep_free(void *block)
{
    free(block);
}
