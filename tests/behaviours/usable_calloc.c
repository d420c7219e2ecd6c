/* malloc_usable_size of blocks from calloc, as for malloc. */
#include "behaviour.h"

int main(void)
{
    for (size_t i = 0; i < COUNT_OF(TIERS); i++) {
        void *block = calloc(1, TIERS[i]);
        size_t usable = malloc_usable_size(block);
        expect(usable >= TIERS[i], "calloc of %zu has %zu usable bytes", TIERS[i], usable);
        memset(block, 1, usable);
        free(block);
    }
    return 0;
}
