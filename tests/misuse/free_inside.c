/* The address freed lies inside a small block. */
#include "misuse.h"

int main(void)
{
    char *block = get(SMALL);
    name(block + 16);
    free(hidden(block + 16));
}
