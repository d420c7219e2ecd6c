/* calloc: all bytes are zero, and realloc keeps its bytes, after mallopt(M_PERTURB, 0xaa). */
#include "behaviour.h"

int main(void)
{
    expect(mallopt(M_PERTURB, 0xaa) == 1, "M_PERTURB was refused");
    for (size_t i = 0; i < COUNT_OF(TIERS); i++) {
        free(filled_block(TIERS[i], i));
        void *block = calloc(1, TIERS[i]);
        expect_zero(block, TIERS[i]);
        fill(block, TIERS[i], i);
        block = realloc(block, TIERS[i] * 2);
        expect_filled(block, TIERS[i], i);
        free(block);
    }
    return 0;
}
