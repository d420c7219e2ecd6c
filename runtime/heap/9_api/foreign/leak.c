/* Foreign pointers, policy leak: they are left alone. Their size is unknown, so that they cannot be copied either. */
#include "9_api/foreign/foreign.h"

#include <errno.h>

void foreign_know(void)
{
}

void foreign_free(void *block)
{
}

void *foreign_realloc(void *block, size_t bytes)
{
    if (bytes > 0)
        errno = ENOMEM;
    return NULL;
}

size_t foreign_usable(void *block)
{
    return 0;
}
