/* A realloc that fails returns NULL with ENOMEM and leaves the block and its contents as they were (C17 7.22.3.5). */
#include "behaviour.h"

int main(void)
{
    for (size_t i = 0; i < COUNT_OF(TIERS); i++) {
        void *block = filled_block(TIERS[i], i);
        size_t usable = malloc_usable_size(block);
        errno = UNTOUCHED;
        for (size_t k = 0; k < COUNT_OF(TOO_LARGE); k++)
            expect_enomem(realloc(block, TOO_LARGE[k]), "realloc", TOO_LARGE[k]);
        expect(malloc_usable_size(block) == usable, "a failed realloc changed the usable size of %zu bytes", TIERS[i]);
        expect_filled(block, TIERS[i], i);
        free(block);
    }
    return 0;
}
