/* calloc: all bytes are zero in large blocks that were written and freed before, whole or in parts. */
#include "behaviour.h"

int main(void)
{
    for (size_t i = 0; i < COUNT_OF(TIERS); i++) {
        void *first = dirty_block(TIERS[i]), *second = dirty_block(TIERS[i]);
        free(first);
        free(second);
        void *whole = calloc(1, TIERS[i] * 2);
        expect_zero(whole, TIERS[i] * 2);
        free(memset(whole, 0x77, TIERS[i] * 2));
        void *part = calloc(1, TIERS[i] / 2 + 1);
        expect_zero(part, TIERS[i] / 2 + 1);
        free(part);
    }
    return 0;
}
