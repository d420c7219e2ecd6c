/* memset of a freed block. */
#include "misuse.h"

int main(void)
{
    char *block = get(SMALL);
    name(block);
    free(block);
    memset(hidden(block), 'x', SMALL);
}
