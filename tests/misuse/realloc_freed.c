/* realloc of a freed block. */
#include "misuse.h"

int main(void)
{
    void *block = get(SMALL);
    name(block);
    free(block);
    hidden(realloc(hidden(block), 2 * SMALL));
}
