/* malloc_trim leaves live blocks and errno alone; the heap goes on after it. */
#include "behaviour.h"

int main(void)
{
    static void *blocks[1200];
    for (size_t round = 0; round < 4; round++) {
        for (size_t i = 0; i < COUNT_OF(blocks); i++)
            blocks[i] = blocks[i] != NULL ? blocks[i] : filled_block(1 + i * 5 % 4000, i);
        for (size_t i = round; i < COUNT_OF(blocks); i += 2 + round) {
            free(blocks[i]);
            blocks[i] = NULL;
        }
        errno = UNTOUCHED;
        malloc_trim(round * 65536);
        expect_untouched("malloc_trim");
        for (size_t i = 0; i < COUNT_OF(blocks); i++)
            if (blocks[i] != NULL)
                expect_filled(blocks[i], 1 + i * 5 % 4000, i);
    }
    return 0;
}
