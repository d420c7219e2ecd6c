/* memset of a freed large block. */
#include "misuse.h"

int main(void)
{
    char *block = get(RUN);
    name(block);
    free(block);
    memset(hidden(block), 'x', RUN);
}
