/* The byte before a small block is written. */
#include "misuse.h"

int main(void)
{
    char *before = get(SMALL), *block = get(SMALL);
    block = block > before ? block : before; /* not the first of its slab */
    name(block);
    ((char *)hidden(block))[-1] ^= 1;
    free(block);
}
