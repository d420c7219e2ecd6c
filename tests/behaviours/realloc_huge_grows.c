/* realloc of a huge block, 1 MiB to 46 MiB and back, keeps its first bytes and its last. */
#include "behaviour.h"

int main(void)
{
    char *block = filled_block(MEBI, 9);
    for (size_t mebis = 1; mebis <= 46; mebis += 9) {
        block = realloc(block, mebis * MEBI);
        expect(block != NULL, "realloc to %zu MiB failed", mebis);
        expect_filled(block, 10000, 9);
        expect(mebis == 1 || block[(mebis - 9) * MEBI - 1] == 42 || mebis == 10,
            "the last byte has changed at %zu MiB", mebis);
        block[mebis * MEBI - 1] = 42;
    }
    for (size_t mebis = 46; mebis > 0; mebis /= 2) {
        block = realloc(block, mebis * MEBI);
        expect_filled(block, 10000, 9);
    }
    block = realloc(block, 100);
    expect_filled(block, 100, 9);
    free(block);
    return 0;
}
