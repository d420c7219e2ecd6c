/* The address freed lies inside a block that has a mapping of its own. */
#include "misuse.h"

int main(void)
{
    char *block = get(HUGE);
    name(block + 4096);
    free(hidden(block + 4096));
}
