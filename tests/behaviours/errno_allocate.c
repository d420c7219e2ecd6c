/* Allocations that succeed leave errno alone, in all entry points and on all tiers. */
#include "behaviour.h"

int main(void)
{
    errno = UNTOUCHED;
    for (size_t i = 0; i < COUNT_OF(TIERS); i++) {
        void *block = NULL;
        malloc(TIERS[i]);
        expect_untouched("malloc");
        calloc(TIERS[i], 1);
        expect_untouched("calloc");
        posix_memalign(&block, 64, TIERS[i]);
        expect_untouched("posix_memalign");
        aligned_alloc(128, TIERS[i]);
        expect_untouched("aligned_alloc");
        memalign(8192, TIERS[i]);
        expect_untouched("memalign");
        valloc(TIERS[i]);
        expect_untouched("valloc");
        pvalloc(TIERS[i]);
        expect_untouched("pvalloc");
    }
    return 0;
}
