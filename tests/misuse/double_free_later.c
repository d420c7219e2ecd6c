/* A block is freed again when many others of its class came and went, but it was not handed out again. */
#include "misuse.h"

int main(void)
{
    void *kept[64], *block = get(SMALL);
    name(block);
    for (int i = 0; i < 64; i++)
        kept[i] = get(SMALL);
    free(block);
    for (int i = 0; i < 64; i++)
        free(kept[i]);
    free(hidden(block));
}
