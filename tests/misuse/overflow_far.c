/* A loop writes upwards over everything, across the end of a superslab into the next. */
#include "misuse.h"

#include <unistd.h>

enum { BLOCKS = 60000, FAR = 4 << 20 };

int main(void)
{
    volatile char *block = get(SMALL);
    name((const void *)block);
    for (int i = 0; i < BLOCKS; i++)
        hidden(get(SMALL));
    for (size_t byte = 0; byte < FAR; byte += 64)
        block[byte] = 'x';
    _exit(0);
}
