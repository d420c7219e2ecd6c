/* malloc_usable_size of a freed block. */
#include "misuse.h"

#include <malloc.h>

int main(void)
{
    void *block = get(SMALL);
    name(block);
    free(block);
    return malloc_usable_size(hidden(block)) == 0;
}
