/* realloc from every tier to every other keeps the contents up to the smaller size. */
#include "behaviour.h"

int main(void)
{
    for (size_t i = 0; i < COUNT_OF(TIERS); i++)
        for (size_t k = 0; k < COUNT_OF(TIERS); k++) {
            size_t from = TIERS[i], to = TIERS[k], kept = from < to ? from : to, shown = kept < 5000 ? kept : 5000;
            char *block = malloc(from);
            expect(block != NULL, "malloc(%zu) failed", from);
            fill(block, shown, i);
            block[kept - 1] = 77;
            block = realloc(block, to);
            expect(block != NULL, "realloc from %zu to %zu failed", from, to);
            expect(block[kept - 1] == 77, "the last byte kept from %zu to %zu has changed", from, to);
            expect_filled(block, shown - 1, i);
            block[to - 1] = 1;
            free(block);
        }
    return 0;
}
