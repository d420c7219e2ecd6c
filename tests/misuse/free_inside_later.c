/* The address freed lies inside a small block, of a class that others were freed of; all are freed after. */
#include "misuse.h"

enum { BLOCKS = 8000 };

int main(void)
{
    static char *block[BLOCKS];
    for (int number = 0; number < BLOCKS; number++)
        block[number] = get(SMALL);
    char *inside = block[BLOCKS / 2] + 16;
    name(inside);
    for (int number = 0; number < BLOCKS; number++)
        free(hidden(number == BLOCKS / 2 ? inside : block[number]));
}
