/* The address freed is not even aligned. */
#include "misuse.h"

int main(void)
{
    char *block = get(SMALL);
    name(block + 1);
    free(hidden(block + 1));
}
