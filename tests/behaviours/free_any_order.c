/* Blocks can be freed in any order: as they came, in reverse, every other one first. */
#include "behaviour.h"

int main(void)
{
    static void *blocks[3000];
    const size_t strides[] = {1, 2999, 1499, 7, 1001};
    for (size_t round = 0; round < COUNT_OF(strides); round++) {
        for (size_t i = 0; i < COUNT_OF(blocks); i++)
            blocks[i] = filled_block(16 + i % 300, i);
        for (size_t i = 0; i < COUNT_OF(blocks); i++) {
            size_t next = i * strides[round] % COUNT_OF(blocks);
            expect_filled(blocks[next], 16 + next % 300, next);
            free(blocks[next]);
        }
    }
    return 0;
}
