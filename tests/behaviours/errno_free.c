/* free leaves errno alone (POSIX.1-2024), on all tiers: of small blocks in any order, of aligned and of huge ones. */
#include "behaviour.h"

int main(void)
{
    static void *blocks[COUNT_OF(TIERS)][20];
    for (size_t i = 0; i < COUNT_OF(TIERS); i++)
        for (size_t k = 0; k < 20; k++)
            blocks[i][k] = k % 5 ? malloc(TIERS[i]) : memalign(4096 << k / 5, TIERS[i]);
    errno = UNTOUCHED;
    for (size_t k = 0; k < 20; k++)
        for (size_t i = 0; i < COUNT_OF(TIERS); i++) {
            free(blocks[i][k * 7 % 20]);
            expect_untouched("free");
        }
    return 0;
}
