/* The address freed lies in the heap's address space, where no block was ever handed out. */
#include "misuse.h"

int main(void)
{
    char *block = get(SMALL);
    name(block + (1 << 27));
    free(hidden(block + (1 << 27)));
}
