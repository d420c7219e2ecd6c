/* One byte is written behind a small block's usable bytes: the end of a string that is one too long. */
#include "misuse.h"

#include <malloc.h>

int main(void)
{
    char *block = get(SMALL);
    name(block);
    ((char *)hidden(block))[malloc_usable_size(block)] = 0;
    free(block);
}
