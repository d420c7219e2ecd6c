/* A block of size 0 can be freed, and resized to a real one. */
#include "behaviour.h"

int main(void)
{
    for (size_t i = 0; i < 100000; i++)
        free(malloc(0));
    for (size_t i = 0; i < COUNT_OF(TIERS); i++) {
        void *block = realloc(malloc(0), TIERS[i]);
        expect(block != NULL, "realloc of a block of size 0 to %zu failed", TIERS[i]);
        memset(block, 1, TIERS[i]);
        free(block);
    }
    return 0;
}
