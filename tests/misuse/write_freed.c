/* A byte of a freed block is written; the block is handed out again later. */
#include "misuse.h"

int main(void)
{
    char *block = get(SMALL);
    name(block);
    free(block);
    ((char *)hidden(block))[SMALL / 2] = 1;
    for (int i = 0; i < 100000; i++)
        free(get(SMALL));
}
