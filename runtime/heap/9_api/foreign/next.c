/* Foreign pointers, policy next: they go to the allocator that follows. */
#include "9_api/foreign/foreign.h"

#include "9_api/foreign/elsewhere.h"

void foreign_know(void)
{
    elsewhere_know();
}

void foreign_free(void *block)
{
    elsewhere_free(block);
}

void *foreign_realloc(void *block, size_t bytes)
{
    return elsewhere_realloc(block, bytes);
}

size_t foreign_usable(void *block)
{
    return elsewhere_usable(block);
}
