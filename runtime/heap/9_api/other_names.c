/* Further names of the malloc family: jumps, so that each caller stays the program's own. */
#include "9_api/api.h"

void cfree(void *block)
{
    free(block);
}

void free_sized(void *block, size_t bytes)
{
    free(block);
}

void free_aligned_sized(void *block, size_t alignment, size_t bytes)
{
    free(block);
}

void *__libc_malloc(size_t bytes)
{
    return malloc(bytes);
}

void __libc_free(void *block)
{
    free(block);
}

void *__libc_calloc(size_t count, size_t bytes)
{
    return calloc(count, bytes);
}

void *__libc_realloc(void *block, size_t bytes)
{
    return realloc(block, bytes);
}

void *__libc_memalign(size_t alignment, size_t bytes)
{
    return memalign(alignment, bytes);
}

void *__libc_valloc(size_t bytes)
{
    return valloc(bytes);
}

void *__libc_pvalloc(size_t bytes)
{
    return pvalloc(bytes);
}

void __libc_cfree(void *block)
{
    free(block);
}

int __posix_memalign(void **block, size_t alignment, size_t bytes)
{
    return posix_memalign(block, alignment, bytes);
}
