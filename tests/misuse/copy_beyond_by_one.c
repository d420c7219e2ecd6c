/* memcpy writes one byte behind what was asked for. */
#include "misuse.h"

static char other[2 * RUN];

int main(void)
{
    char *block = get(SMALL);
    name(block + SMALL / 2);
    memcpy(hidden(block + SMALL / 2), other, SMALL - SMALL / 2 + 1);
}
