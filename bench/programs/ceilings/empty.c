/* Ceiling `empty`: malloc returns one static buffer and free does nothing: the cost of the call
 * alone. Valid only with one live block (pairs); requests larger than the buffer are not
 * checked. */
#include <stddef.h>

enum { BYTES = 1 << 20 };

static char buffer[BYTES] __attribute__((aligned(64)));

void *malloc(size_t bytes)
{
    (void)bytes;
    return buffer;
}

void free(void *block)
{
    (void)block;
}

void *calloc(size_t count, size_t bytes)
{
    (void)count, (void)bytes;
    return buffer;
}

void *realloc(void *block, size_t bytes)
{
    (void)block, (void)bytes;
    return buffer;
}
