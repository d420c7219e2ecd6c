/* realloc to the size the block has keeps it where it is, and what is in it. */
#include "behaviour.h"

int main(void)
{
    for (size_t i = 0; i < COUNT_OF(TIERS); i++) {
        void *block = filled_block(TIERS[i], i);
        void *same = realloc(block, TIERS[i]);
        expect(same == block, "realloc to the same %zu bytes moved the block", TIERS[i]);
        expect_filled(same, TIERS[i], i);
        free(same);
    }
    return 0;
}
