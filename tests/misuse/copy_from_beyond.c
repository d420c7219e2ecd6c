/* memcpy reads the block behind. */
#include "misuse.h"

static char other[2 * RUN];

int main(void)
{
    char *block = get(SMALL);
    name(block + SMALL / 2);
    memcpy(other, hidden(block + SMALL / 2), SMALL);
}
