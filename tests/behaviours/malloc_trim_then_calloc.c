/* Blocks that calloc makes of memory that malloc_trim gave back are zero. */
#include "behaviour.h"

int main(void)
{
    static void *blocks[2000];
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < COUNT_OF(blocks); i++)
            expect_zero(blocks[i] = calloc(1, 1 + i), 1 + i);
        for (size_t i = 0; i < COUNT_OF(blocks); i++)
            free(memset(blocks[i], 0xa5, 1 + i));
        malloc_trim(0);
    }
    return 0;
}
