/* memcpy writes into the block behind. */
#include "misuse.h"

static char other[2 * RUN];

int main(void)
{
    char *block = get(SMALL);
    name(block);
    memcpy(hidden(block), other, 2 * SMALL);
    free(block);
}
