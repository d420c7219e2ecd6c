/* calloc: all bytes are zero in the gaps that freed blocks leave between live ones. */
#include "behaviour.h"

int main(void)
{
    static void *blocks[2000];
    for (size_t i = 0; i < COUNT_OF(blocks); i++)
        blocks[i] = dirty_block(i);
    for (size_t i = 0; i < COUNT_OF(blocks); i += 2)
        free(blocks[i]);
    for (size_t i = 0; i < COUNT_OF(blocks); i += 2)
        expect_zero(blocks[i] = calloc(1, i), i);
    for (size_t i = 1; i < COUNT_OF(blocks); i += 2)
        for (size_t k = 0; k < i; k++)
            expect(((unsigned char *)blocks[i])[k] == 1, "byte %zu of a live block of %zu has changed", k, i);
    return 0;
}
