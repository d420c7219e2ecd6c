/* memcpy writes one byte behind what was asked for of a large block. */
#include "misuse.h"

static char other[2 * RUN];

int main(void)
{
    char *block = get(RUN);
    name(block + RUN - 1);
    memcpy(hidden(block + RUN - 1), other, 2);
}
