/* A block whose realloc failed can be resized to a size that fits, and freed. */
#include "behaviour.h"

int main(void)
{
    for (size_t i = 0; i < COUNT_OF(TIERS); i++) {
        void *block = filled_block(TIERS[i], i);
        expect(realloc(block, SIZE_MAX / 2) == NULL, "realloc of %zu bytes to SIZE_MAX / 2 succeeded", TIERS[i]);
        block = realloc(block, 2 * TIERS[i] + 50);
        expect_filled(block, TIERS[i], i);
        expect(realloc(block, SIZE_MAX - 5) == NULL, "realloc of %zu bytes to SIZE_MAX - 5 succeeded", TIERS[i]);
        free(block);
    }
    return 0;
}
