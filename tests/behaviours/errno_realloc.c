/* realloc and reallocarray that succeed leave errno alone, from every tier to every other. */
#include "behaviour.h"

int main(void)
{
    for (size_t i = 0; i < COUNT_OF(TIERS); i++)
        for (size_t k = 0; k < COUNT_OF(TIERS); k++) {
            errno = UNTOUCHED;
            void *block = realloc(malloc(TIERS[i]), TIERS[k]);
            expect_untouched("realloc");
            block = reallocarray(block, TIERS[i], 1);
            expect_untouched("reallocarray");
            free(block);
        }
    return 0;
}
