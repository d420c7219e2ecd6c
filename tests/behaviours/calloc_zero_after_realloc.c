/* calloc: all bytes are zero where realloc gave memory back. */
#include "behaviour.h"

int main(void)
{
    for (size_t i = 0; i < COUNT_OF(TIERS); i++) {
        void *shrunk = realloc(dirty_block(TIERS[i]), TIERS[i] / 4 + 1);
        void *block = calloc(TIERS[i], 1);
        expect_zero(block, TIERS[i]);
        free(shrunk);
        free(memset(block, 0xa5, TIERS[i]));
        block = calloc(1, TIERS[i] / 3 + 1);
        expect_zero(block, TIERS[i] / 3 + 1);
        free(block);
    }
    return 0;
}
