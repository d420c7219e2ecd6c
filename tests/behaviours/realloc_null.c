/* realloc(NULL, n) is malloc(n). */
#include "behaviour.h"

int main(void)
{
    for (size_t i = 0; i < COUNT_OF(TIERS); i++) {
        void *block = realloc(NULL, TIERS[i]);
        expect(block != NULL, "realloc(NULL, %zu) failed: %s", TIERS[i], strerror(errno));
        fill(block, TIERS[i], i);
        expect_filled(block, TIERS[i], i);
        free(block);
    }
    return 0;
}
