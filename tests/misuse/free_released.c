/* A freed block of a slab whose pages went back is freed again. Blocks in use of the slabs around it are freed before. */
#include "misuse.h"

#include <malloc.h>

enum { BLOCKS = 6000 };

static int stays(int number)
{
    return number / (BLOCKS / 6) % 2 == 0;
}

int main(void)
{
    static void *block[BLOCKS];
    for (int number = 0; number < BLOCKS; number++)
        block[number] = get(SMALL);
    for (int number = 0; number < BLOCKS; number++)
        if (!stays(number))
            free(block[number]);
    malloc_trim(0);
    for (int number = 0; number < BLOCKS; number++)
        if (stays(number))
            free(block[number]);
    void *freed = block[BLOCKS / 4];
    name(freed);
    free(hidden(freed));
}
