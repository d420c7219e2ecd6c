/* A library that is loaded late and keeps blocks: a call site in a file of its own. */
#include <stdlib.h>

void *plugin_keep(size_t bytes)
{
    void *block = malloc(bytes);
    __asm__ volatile("" : "+r"(block));
    return block;
}
