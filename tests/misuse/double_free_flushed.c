/* A block is freed again after its neighbour, and thousands of their class are freed after. */
#include "misuse.h"

enum { BLOCKS = 8000 };

int main(void)
{
    static void *block[BLOCKS];
    for (int number = 0; number < BLOCKS; number++)
        block[number] = get(SMALL);
    void *twice = block[BLOCKS / 2];
    name(twice);
    for (int number = 0; number < BLOCKS; number++) {
        free(block[number]);
        if (number == BLOCKS / 2 + 1)
            free(hidden(twice));
    }
}
