/* A block is freed again after the next allocation of its size, which a last-in first-out cache serves with the same block. */
#include "misuse.h"

int main(void)
{
    void *block = get(SMALL);
    name(block);
    free(block);
    void *other = get(SMALL);
    free(hidden(block));
    free(other);
}
