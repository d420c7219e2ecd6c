/* realloc up through all tiers and down again keeps every byte. */
#include "behaviour.h"

int main(void)
{
    void *block = NULL;
    size_t bytes = 0;
    for (size_t i = 0; i < COUNT_OF(TIERS); i++) {
        block = realloc(block, TIERS[i]);
        expect(block != NULL, "realloc from %zu to %zu failed", bytes, TIERS[i]);
        expect_filled(block, bytes, 1);
        fill(block, bytes = TIERS[i], 1);
    }
    for (size_t i = COUNT_OF(TIERS); i-- > 0;) {
        block = realloc(block, TIERS[i]);
        expect(block != NULL, "realloc down to %zu failed", TIERS[i]);
        expect_filled(block, TIERS[i], 1);
    }
    free(block);
    return 0;
}
