/* A block is freed again when many others of its class came and went, but it was not handed out again. */
#include "misuse.h"

int main(void)
{
    void *kept[64];
    for (int i = 0; i < 64; i++)
        kept[i] = get(SMALL);
    void *block = get(SMALL);
    name(block);
    free(block);
    for (int i = 0; i < 64; i++)
        free(kept[i]);
    free(hidden(block));
}
