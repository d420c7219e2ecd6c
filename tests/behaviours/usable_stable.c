/* malloc_usable_size: the same answer as long as the block lives. */
#include "behaviour.h"

int main(void)
{
    for (size_t i = 0; i < COUNT_OF(TIERS); i++) {
        void *block = malloc(TIERS[i]);
        size_t usable = malloc_usable_size(block);
        void *other = malloc(TIERS[i]);
        memset(block, 0xff, usable);
        free(other);
        expect(malloc_usable_size(block) == usable, "%zu usable bytes became %zu", usable, malloc_usable_size(block));
        free(block);
    }
    return 0;
}
