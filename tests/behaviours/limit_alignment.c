/* aligned_alloc and memalign: an alignment of half the address space and a size that together wrap are refused. */
#include "behaviour.h"

int main(void)
{
    for (size_t i = 0; i < COUNT_OF(TIERS); i++)
        for (int log2 = 48; log2 < 64; log2++) {
            errno = UNTOUCHED;
            expect_enomem(aligned_alloc((size_t)1 << log2, TIERS[i]), "aligned_alloc", TIERS[i]);
            void *block = memalign((size_t)1 << log2, TIERS[i]);
            expect(block == NULL && errno != UNTOUCHED, "memalign to 2^%d of %zu bytes returned %p, errno %d", log2,
                TIERS[i], block, errno);
        }
    return 0;
}
