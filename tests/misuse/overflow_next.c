/* The block behind is overwritten. */
#include "misuse.h"

#include <malloc.h>

int main(void)
{
    char *block = get(SMALL);
    name(block);
    memset(hidden(block), 'x', malloc_usable_size(block) + 64);
    free(block);
}
