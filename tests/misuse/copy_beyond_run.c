/* memmove writes into the pages behind a large block. */
#include "misuse.h"

static char other[2 * RUN];

int main(void)
{
    char *block = get(RUN);
    get(RUN);
    name(block);
    memmove(hidden(block), other, RUN + 4096);
}
