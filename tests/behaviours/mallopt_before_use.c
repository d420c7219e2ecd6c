/* mallopt as the program's first call of the heap, and blocks of all tiers after it. */
#include "behaviour.h"

int main(void)
{
    expect(mallopt(M_MMAP_THRESHOLD, 1 << 30) == 1 || mallopt(M_MMAP_THRESHOLD, 1 << 24) == 1,
        "M_MMAP_THRESHOLD was refused");
    mallopt(M_ARENA_MAX, 1);
    mallopt(M_TRIM_THRESHOLD, -1);
    for (size_t i = 0; i < COUNT_OF(TIERS); i++) {
        void *block = filled_block(TIERS[i], i);
        expect_filled(block, TIERS[i], i);
        free(block);
    }
    return 0;
}
