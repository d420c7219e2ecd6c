/* The same block is freed twice in a row. */
#include "misuse.h"

int main(void)
{
    void *block = get(SMALL);
    name(block);
    free(block);
    free(hidden(block));
}
