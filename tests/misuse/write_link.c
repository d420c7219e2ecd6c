/* The first word of freed blocks is written, where a list through blocks has its link. */
#include "misuse.h"

int main(void)
{
    enum { BLOCKS = 8, QUARANTINE = 64 };
    char *block[BLOCKS];
    for (int i = 0; i < BLOCKS; i++)
        block[i] = get(SMALL);
    for (int i = 0; i < BLOCKS; i++)
        free(block[i]);
    for (int i = 0; i < QUARANTINE; i++)
        free(get(10 * SMALL)); /* so that no quarantine holds them */
    name(block[BLOCKS - 1]);
    for (int i = 0; i < BLOCKS; i++)
        *(void *volatile *)hidden(block[i]) = block;
    for (int i = 0; i < BLOCKS; i++)
        hidden(get(SMALL));
}
