/* malloc_usable_size: blocks of all tiers are live together, each written to its end. */
#include "behaviour.h"

int main(void)
{
    void *blocks[COUNT_OF(TIERS)];
    for (size_t i = 0; i < COUNT_OF(TIERS); i++) {
        blocks[i] = malloc(TIERS[i]);
        size_t usable = malloc_usable_size(blocks[i]);
        expect(usable >= TIERS[i], "malloc(%zu) has %zu usable bytes", TIERS[i], usable);
        fill(blocks[i], usable, i);
    }
    for (size_t i = 0; i < COUNT_OF(TIERS); i++) {
        expect_filled(blocks[i], malloc_usable_size(blocks[i]), i);
        free(blocks[i]);
    }
    return 0;
}
