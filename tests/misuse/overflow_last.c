/* Of the eight bytes behind a block only the last is written: a field of a structure that the block has no room for. */
#include "misuse.h"

#include <malloc.h>

int main(void)
{
    char *block = get(SMALL);
    name(block);
    ((char *)hidden(block))[malloc_usable_size(block) + 7] ^= 1;
    free(block);
}
