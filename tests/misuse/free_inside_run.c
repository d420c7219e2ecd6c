/* The address freed lies inside a large block. */
#include "misuse.h"

int main(void)
{
    char *block = get(RUN);
    name(block + 4096);
    free(hidden(block + 4096));
}
