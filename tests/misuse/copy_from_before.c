/* memcpy reads the block before. */
#include "misuse.h"

static char other[2 * RUN];

int main(void)
{
    char *before = get(SMALL), *block = get(SMALL);
    char *second = block > before ? block : before; /* of two neighbours */
    name(second - 1);
    memcpy(other, hidden(second - 1), 2);
}
