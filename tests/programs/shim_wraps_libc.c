/* Preloaded behind a library: a malloc that wraps the C library's, which it calls by the names with __libc_. */
#include <stddef.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void __libc_free(void *block);

void *malloc(size_t bytes)
{
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return __libc_calloc(count, bytes);
}

void *realloc(void *block, size_t bytes)
{
    return __libc_realloc(block, bytes);
}

void free(void *block)
{
    __libc_free(block);
}
