/* malloc: room for an array of objects of 16 bytes is 16-aligned, whatever is live beside it. */
#include "behaviour.h"

int main(void)
{
    static void *blocks[4096];
    for (size_t i = 0; i < COUNT_OF(blocks); i++) {
        blocks[i] = malloc(16 * (i + 1));
        expect_aligned(blocks[i], 16, "malloc", 16 * (i + 1));
    }
    for (size_t i = 0; i < COUNT_OF(blocks); i++)
        free(blocks[i]);
    return 0;
}
