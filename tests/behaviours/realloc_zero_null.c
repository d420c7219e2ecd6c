/* realloc(p, 0) returns NULL (glibc's choice of C17 7.22.3.5) and leaves errno alone. */
#include "behaviour.h"

int main(void)
{
    for (size_t i = 0; i < COUNT_OF(TIERS); i++) {
        void *block = filled_block(TIERS[i], i);
        errno = UNTOUCHED;
        void *none = realloc(block, 0);
        expect_untouched("realloc(p, 0)");
        expect(none == NULL, "realloc(p, 0) of %zu bytes returned %p", TIERS[i], none);
    }
    return 0;
}
