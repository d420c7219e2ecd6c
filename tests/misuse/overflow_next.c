/* The block behind is overwritten. */
#include "misuse.h"

#include <malloc.h>

int main(void)
{
    char *block = get(SMALL);
    name(block);
    size_t end = malloc_usable_size(block) + 64;
    for (size_t byte = 0; byte < end; byte++)
        ((volatile char *)hidden(block))[byte] = 'x';
    free(block);
}
