/* malloc_usable_size leaves errno alone. */
#include "behaviour.h"

int main(void)
{
    for (size_t i = 0; i < COUNT_OF(TIERS); i++) {
        void *block = malloc(TIERS[i]);
        errno = UNTOUCHED;
        malloc_usable_size(block);
        malloc_usable_size(NULL);
        expect_untouched("malloc_usable_size");
        free(block);
    }
    return 0;
}
